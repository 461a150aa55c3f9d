"""Which streams the figures of policies are computed from: all, or a sample if there are very many."""

from datetime import datetime

from streamviz.records.queries.rows import rows

# Roughly the most that are read. A hold takes as long as several verdicts.
MOST_VERDICTS, MOST_HOLDS = 10_000, 2_500
_VALUES, _SAMPLED = 256, 64
_VERDICTS = "SELECT count(*) FROM records_verdict WHERE at >= %(since)s AND at < %(until)s AND {sampled}"
_HOLDS = "SELECT count(*) FROM records_block WHERE held_at >= %(since)s AND held_at < %(until)s AND {sampled}"


def one_in_of_verdicts(since: datetime, until: datetime) -> int:
    """For the verdicts between two moments, one stream in how many is read."""
    return _one_in(_VERDICTS, since, until, MOST_VERDICTS)


def one_in_of_holds(since: datetime, until: datetime) -> int:
    """For the holds that began between two moments, one stream in how many is read."""
    return _one_in(_HOLDS, since, until, MOST_HOLDS)


def sampled(column: str, one_in: int) -> str:
    """The condition that selects one stream in `one_in`, always the same ones, by the last byte of the id, which is
    random. `column` has the ids. Indexes verdict_sample and held_sample, which have each of these bytes by time."""
    if one_in == 1:
        return "true"
    byte = f"get_byte(uuid_send({column}), 15)"
    return f"{byte} < {_SAMPLED} AND {byte} = ANY ('{{{','.join(map(str, range(_VALUES // one_in)))}}}')"


def _one_in(statement: str, since: datetime, until: datetime, most: int) -> int:
    # The total is estimated from the smallest sample.
    sql = statement.format(sampled=sampled("stream_id", _VALUES))
    [(some,)] = rows(sql, {"since": since, "until": until})
    found = 1
    while found < _VALUES and some * _VALUES > most * found:
        found = max(found * 2, _VALUES // _SAMPLED)
    return found
