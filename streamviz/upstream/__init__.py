"""Calls to providers. LiteLLM is imported here and nowhere else."""

import os

from streamviz.upstream.proxies import leave_out_this_machine

# LiteLLM reads these as it is imported, whichever module here is the first to do so: it would fetch prices otherwise.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_LOG", "ERROR")
# The SDKs of the clouds read these.
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")
os.environ.setdefault("NO_GCE_CHECK", "true")
leave_out_this_machine()
