"""The pages' URLs. A page has one name: of its URL, its view, its template and its test."""

from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from streamviz.dashboard.views import (
    accounts,
    conversation,
    keys,
    live,
    policies,
    session_changes,
    sessions,
    stats,
    streams,
    system,
    tryouts,
)

urlpatterns = [
    path("", live.live, name="live"),
    path("favicon.ico", RedirectView.as_view(url=static("icon.svg"))),  # browsers ask for it wherever no page names one
    path("needs-you/", live.needs_you, name="needs_you"),
    path("simulate/", live.simulate, name="simulate"),
    path("streams/<uuid:stream_id>/", streams.stream, name="stream"),
    path("streams/<uuid:stream_id>/peek/", streams.peek, name="peek"),
    path("streams/<uuid:stream_id>/decide/", streams.decide, name="decide"),
    path("streams/<uuid:stream_id>/cancel/", streams.cancel, name="cancel"),
    path("streams/<uuid:stream_id>/chunks/", streams.chunks, name="chunks"),
    path("streams/<uuid:stream_id>/chunks/<int:seq>/", streams.chunk, name="chunk"),
    path("streams/<uuid:stream_id>/blocks/<int:ordinal>/", streams.block_text, name="block_text"),
    path("streams/<uuid:stream_id>/request/file/", streams.request_file, name="request_file"),
    path("streams/<uuid:stream_id>/request/", streams.request_body, name="request_body"),
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/histogram/", sessions.session_histogram, name="session_histogram"),
    path("sessions/<uuid:session_id>/", conversation.session, name="session"),
    path("sessions/<uuid:session_id>/star/", session_changes.star_session, name="star_session"),
    path("sessions/<uuid:session_id>/note/", session_changes.note_session, name="note_session"),
    path("sessions/<uuid:session_id>/delete/", session_changes.delete_session, name="delete_session"),
    path("sessions/<uuid:session_id>/export/", session_changes.export_session, name="export_session"),
    path("policies/", policies.policies, name="policies"),
    path("policies/new/<slug:kind>/", policies.new_policy, name="new_policy"),
    path("policies/<slug:name>/", policies.policy, name="policy"),
    path("policies/<slug:name>/mode/", policies.policy_mode, name="policy_mode"),
    path("policies/<slug:name>/spread/", policies.policy_spread, name="policy_spread"),
    path("policies/<slug:name>/try-out/", tryouts.try_out, name="try_out"),
    path("policies/<slug:name>/roll-back/<int:number>/", policies.roll_back, name="roll_back"),
    path("policies/<slug:name>/back-tests/", tryouts.start_backtest, name="start_backtest"),
    path("policies/<slug:name>/back-tests/<int:job_id>/", tryouts.backtest, name="backtest"),
    path("policies/<slug:name>/back-tests/<int:job_id>/cancel/", tryouts.cancel_backtest, name="cancel_backtest"),
    path("stats/", stats.stats, name="stats"),
    path("keys/", keys.keys, name="keys"),
    path("keys/<int:key_id>/revoke/", keys.revoke_key, name="revoke_key"),
    path("system/", system.system, name="system"),
    path("sign-in/", accounts.sign_in, name="sign_in"),
    path("sign-in/link/<str:uidb64>/<str:token>/", accounts.sign_in_link, name="sign_in_link"),
    path("sign-out/", accounts.sign_out, name="sign_out"),
    path("account/", accounts.account, name="account"),
    path("account/theme/", accounts.theme, name="theme"),
]
