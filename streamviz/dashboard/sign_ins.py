"""Limits on sign-in attempts, by account and by address, across all workers.

An attempt is counted before its password is checked, so that many at once cannot get around the limit. One that
succeeds clears its account's; one that is refused does not count.
"""

import hashlib
import logging
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from streamviz.records.models import SignInAttempt

log = logging.getLogger(__name__)

WINDOW = timedelta(minutes=15)
MOST_OF_ACCOUNT = 10
# More, as many people can share one.
MOST_OF_ADDRESS = 30


class TooManyAttempts(Exception):
    """Signing in is refused for now; `seconds` says for how long."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many attempts to sign in. Try again in {ceil(seconds / 60)} min.")
        self.seconds = seconds


class Attempt:
    """One attempt to sign in. Raises TooManyAttempts if there were too many, even if its password is right."""

    def __init__(self, account: str, address: str) -> None:
        self._account, self._address = account, address
        now = timezone.now()
        SignInAttempt.objects.filter(at__lt=now - WINDOW).delete()
        self._row = SignInAttempt.objects.create(account=_digest(account), address=_network(address), at=now)
        self._require_few(now)

    def failed(self) -> None:
        """The password was wrong, or there is no such account: then its name may be a password, and is not logged."""
        is_known = User.objects.filter(username=self._account).exists()
        whom = f"for {self._account!r}" if is_known else "for an account that does not exist"
        log.warning("sign-in failed %s from %s", whom, self._address or "an unknown address")

    def succeeded(self) -> None:
        """Forget the account's failures, but not those of the address, which may have tried other accounts."""
        SignInAttempt.objects.filter(account=self._row.account).delete()

    def _require_few(self, now: datetime) -> None:
        of_account = SignInAttempt.objects.filter(account=self._row.account)
        of_address = SignInAttempt.objects.filter(address=self._row.address)
        until = max(_full_until(of_account, MOST_OF_ACCOUNT, now), _full_until(of_address, MOST_OF_ADDRESS, now))
        if until > now:
            self._row.delete()
            log.warning("sign-in refused from %s: too many attempts", self._address or "an unknown address")
            raise TooManyAttempts(ceil((until - now).total_seconds()))


def _full_until(attempts: QuerySet[SignInAttempt], most: int, now: datetime) -> datetime:
    """When the attempts leave room for one more; `now` if they do already."""
    newest = list(attempts.order_by("-at").values_list("at", flat=True)[: most + 1])
    return newest[-1] + WINDOW if len(newest) > most else now


def _digest(account: str) -> str:
    """A digest, as nothing that was typed is kept as it is."""
    return hashlib.sha256(account.casefold().encode("utf-8", "replace")).hexdigest()


def _network(address: str) -> str:
    """For IPv6 the /64 network: whoever has one address has all the others in it, too. IPv4 addresses that come over
    IPv6, which are all in one network, count as what they are."""
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    found = getattr(found, "ipv4_mapped", None) or found
    return str(ip_network((found, 64), strict=False)) if isinstance(found, IPv6Address) else str(found)
