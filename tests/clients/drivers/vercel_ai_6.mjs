// Vercel's AI SDK 6, which is used as the newest is.
import './vercel_ai.mjs'
