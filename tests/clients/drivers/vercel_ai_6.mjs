// Vercel's AI SDK 6, used in the same way as the newest.
import './vercel_ai.mjs'
