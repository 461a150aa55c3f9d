"""`python -m bench.outages`: what clients notice while parts of a deployment are restarted, killed or down.

The deployment is nginx with deploy/nginx.conf in front of three servers on two machines (two VAR_DIRs, two writers),
PgBouncer in front of Postgres, and Redis. Clients call without a pause; afterwards the record is checked against what
each of them received. Takes some 7 minutes.
"""

import argparse
import os

import django


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.outages", description=__doc__)
    parser.add_argument("--requests", type=int, default=2000, help="during the rolling restart")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60, help="for which Redis and a writer are away")
    parser.add_argument("--only", default="", help="outages whose name has this in it")
    parser.add_argument("--before", default="", help="the commit from which all are upgraded by turns, before the rest")
    parser.add_argument("--streams", type=int, default=0, help="on record at first")
    asked = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamviz.settings")
    django.setup()
    from bench.outage_rounds import measure

    measure(asked.clients, asked.requests, asked.seconds, asked.only, asked.before, asked.streams)


if __name__ == "__main__":
    main()
