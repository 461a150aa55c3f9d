"""What is reported about images and audio, in each format."""

import json

import pytest

from streamviz.core.media import media_within
from streamviz.core.medium import Medium
from streamviz.core.sounds import media_in

PNG = "iVBORw0KGgoAAAA="
FOUND = [
    ({"mimeType": "image/png", "data": PNG}, Medium("image/png", PNG, 11)),
    ({"fileUri": "gs://bucket/a.mp4", "mime_type": "video/mp4"}, Medium("video/mp4", address="gs://bucket/a.mp4")),
    ([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}], Medium("image/png", PNG, 11)),
    ({"type": "image_url", "image_url": "https://a.example/b.png"}, Medium("", address="https://a.example/b.png")),
    ({"b64_json": PNG}, Medium("image/png", PNG, 11)),
    ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}, Medium("audio/mp3", "AAAA", 3)),
    ({"id": "audio_1", "data": "AAAA"}, Medium("", "AAAA", 3)),
    ({"result": "AAAA", "output_format": "webp"}, Medium("image/webp", "AAAA", 3)),
    ({"result": "UklGRuIWGQBXRUJQ"}, Medium("image/webp", "UklGRuIWGQBXRUJQ", 12)),
    ({"partial_image_b64": PNG}, Medium("image/png", PNG, 11, is_preview=True)),
    ([{"type": "image", "url": f"data:image/png;base64,{PNG}"}], Medium("image/png", PNG, 11)),
]


@pytest.mark.parametrize(("payload", "medium"), FOUND)
def test_a_medium_has_its_type_and_its_size_or_its_place(payload: object, medium: Medium) -> None:
    assert media_in(json.dumps(payload)) == [medium]


@pytest.mark.parametrize(
    "payload", ["", "{", "null", '"text"', "{}", '{"image_url": 7}', '{"data": {"data": []}}', "[[]]"]
)
def test_what_has_no_medium_has_none(payload: str) -> None:
    assert media_in(payload) == []


def test_several_come_in_order_and_a_type_is_no_story() -> None:
    found = media_in(json.dumps([{"data": "AAAA", "mimeType": "x" * 1000}, {"data": PNG}]))
    assert [len(medium.type) for medium in found] == [100, len("image/png")]


def test_a_sound_in_pieces_is_one_and_images_are_not() -> None:
    sound = ['{"id": "a", "data": "SUQz"}', '{"data": "AAA="}', '{"transcript": "Hi"}', '{"data": "AAAA"}']
    assert media_in("\n".join(sound)) == [Medium("audio/mpeg", "SUQzAAAAAAA=", 8)]
    images = [f'{{"partial_image_b64": "{PNG}"}}', f'{{"result": "{PNG}"}}', f'{{"result": "{PNG}"}}']
    assert [medium.is_preview for medium in media_in("\n".join(images))] == [True, False, False]
    assert len(media_in("\n".join([*images[:2], images[2][:-3]]))) == 2


def test_two_images_of_unknown_type_are_no_sound() -> None:
    unknown = [Medium("", "AAAA", 3), Medium("", "BBBB", 3)]
    assert media_in('[{"b64_json": "AAAA"}, {"b64_json": "BBBB"}]') == unknown
    assert media_in('[{"data": "AAAA"}, {"data": "BBBB"}]') == unknown
    assert media_in('{"result": "AAAA"}\n{"result": "BBBB"}') == unknown
    assert media_in('{"data": "AAAA"}\n{"result": "BBBB"}') == unknown


def test_what_a_tool_answered_may_have_some_within() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    answer = {"content": [{"type": "text", "data": "no medium"}, {"url": "https://a.example/"}, image]}
    assert media_within(json.dumps(answer)) == [Medium("image/png", PNG, 11)]
    assert media_within("{") == []
