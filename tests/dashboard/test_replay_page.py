"""What the policies in force would make of a recorded stream, compared with what its client got."""

import json
import re

import pytest

from streamviz.records.models import ClientRun, Policy, Stream
from tests.core.support import call, calls, delta, sse
from tests.dashboard.conftest import Cast, hold, recorded

REQUEST = json.dumps({"model": "coder-large", "messages": [], "stream": True}).encode()
SECRET_WORD = "swordfish"


@pytest.fixture
def stream(cast: Cast) -> Stream:
    """A stream that its client got unchanged."""
    raws = [sse(delta(content=f"The word is {SECRET_WORD}.")), sse("[DONE]")]
    found = recorded(request=REQUEST, chunk_count=2, frame_count=2)
    hold(found, [f"The word is {SECRET_WORD}."], raws)
    ClientRun.objects.create(
        stream=found, first_frame=0, first_at=0, offsets=[0, 0], first_seq=0, lengths=[], payload=b""
    )
    return found


def replayed(cast: Cast, stream: Stream) -> str:
    return str(cast["alice"].post(f"/streams/{stream.pk}/replay/").content.decode())


def test_where_no_policy_is_in_force_it_says_so(cast: Cast, stream: Stream) -> None:
    page = replayed(cast, stream)
    assert "No policy is enforced for this model and key." in page
    assert "the same" in page
    assert f"replay/{stream.pk}" in page


def test_what_a_policy_would_change_now_stands_beside_what_the_client_got(cast: Cast, stream: Stream) -> None:
    parameters = {"patterns": [SECRET_WORD], "action": "replace"}
    Policy(name="quiet", kind="text_rule", mode="enforce", parameters=parameters).save()
    page = replayed(cast, stream)
    assert "The client would now get a different response." in page
    assert page.count(f"The word is {SECRET_WORD}.") == page.count("The word is [removed].") == 1


def test_the_policies_in_force_are_a_list_to_be_read(cast: Cast, stream: Stream) -> None:
    for name in ("quiet", "silent"):
        Policy(name=name, kind="text_rule", mode="enforce", parameters={"patterns": [SECRET_WORD]}).save()
    [said] = re.findall('<p class="muted">(Enforced.*?)</p>', replayed(cast, stream))
    assert re.sub("<[^>]*>", "", said) == "Enforced: quiet, silent"


def test_each_verdict_says_whose_it_is_and_a_block_is_called_as_elsewhere(cast: Cast) -> None:
    Policy(name="quiet", kind="tool_rule", mode="enforce", parameters={"names": ["say"]}).save()
    called = sse(calls(call(0, "c1", "say", "{}")))
    stream = recorded(request=REQUEST, chunk_count=3, frame_count=3)
    hold(stream, ["{}"], [called, sse(delta(finish="tool_calls")), sse("[DONE]")], kind="tool_call")
    usual = {"offsets": [0] * 3, "first_seq": 0, "lengths": [], "payload": b""}
    ClientRun.objects.create(stream=stream, first_frame=0, first_at=0, **usual)
    shown = replayed(cast, stream)
    assert "quiet on block 0" in " ".join(re.sub("<[^>]*>", " ", shown).split())
    assert "tool call <bdi>say</bdi>" in shown


def test_a_policy_of_other_models_does_not_count(cast: Cast, stream: Stream) -> None:
    parameters = {"patterns": [SECRET_WORD]}
    Policy(name="quiet", kind="text_rule", mode="enforce", models_scope="gpt-*", parameters=parameters).save()
    assert "No policy is enforced for this model and key." in replayed(cast, stream)


def test_a_replay_offers_no_way_to_replay_it(cast: Cast, stream: Stream) -> None:
    way = f"/streams/{stream.pk}/replay/"
    assert way in cast["alice"].get(f"/streams/{stream.pk}/").content.decode()
    Stream.objects.update(provider="replay", requested_model="replay/019a")
    assert way not in cast["alice"].get(f"/streams/{stream.pk}/").content.decode()
    assert "cannot be replayed: it is a replay itself." in replayed(cast, stream)


def test_what_cannot_be_run_again_says_why(cast: Cast) -> None:
    assert "cannot be replayed: no chunks are on record." in replayed(cast, recorded(request=REQUEST))
