"""Calls to providers. LiteLLM is imported here and nowhere else."""

import os

from streamviz.upstream.proxies import leave_out_this_machine

# LiteLLM reads these when it is imported, whichever module here does so first; without them it would fetch prices.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_LOG", "ERROR")
# The clouds' SDKs read these.
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")
os.environ.setdefault("NO_GCE_CHECK", "true")
leave_out_this_machine()
