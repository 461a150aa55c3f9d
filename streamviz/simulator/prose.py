"""What the simulated model says: passages about software work, and how they are cut into token-sized pieces."""

import re
from collections.abc import Iterator
from itertools import cycle, islice
from random import Random

PASSAGES = (
    """I looked at the failing job first. The test itself is fine; what changed is the order in which the fixtures are \
torn down. The database is now dropped before the background worker has noticed that it should stop, so the worker's \
last query meets a connection that is already closed. On a fast machine the worker wins the race and nobody sees \
anything. On the build server it loses about one time in six, which matches the rate you saw last week. The smallest \
change that helps is to stop the worker in the fixture that started it, and to wait for it there. I would not add a \
retry around the query, because that would hide the next mistake of the same kind.""",
    """Here is how I would split the module. Today `orders.py` does three things: it reads the request, it decides the \
price, and it writes the invoice. Pricing is the only part with rules that change often, so it should be a plain \
function of its inputs, with no session and no clock.

1. Move the discount table into a constant beside the function that uses it.
2. Pass the date in, so that a test can ask what the price was in March.
3. Leave the invoice writer where it is; it is long, but it is honest about what it does.

After that the handler is nine lines, and each of them can be read aloud.""",
    """The query is slow because of the sort, not because of the join. The planner reads two million rows through the \
index on `customer_id`, sorts them by `created_at`, and then throws away all but fifty. An index on both columns lets \
it walk the rows already in order and stop after the first page. I tried it on a copy of the table: the time fell \
from 1.9 seconds to 4 milliseconds, and the index costs 61 MB. Inserts became about three per cent slower. Since the \
page is opened several thousand times a day and the table gains a few hundred rows an hour, that is a good trade.""",
    """Thanks for the log. The interesting line is the one at 14:02:07, where the client reports a timeout but the \
server has already answered. The response was written to the socket and stayed there, because the proxy in between \
had reached its limit of open connections and was not reading from this one. So the timeout is real, and raising it \
would only make the queue longer. Two things will help: return idle connections to the pool after ten seconds rather \
than sixty, and export the length of that queue, so that the next time it grows somebody can see it before a \
customer does.""",
    """A short plan for the migration, with the risky step in the middle where we can still turn back. First add the \
new column, empty and nullable; that takes a lock for a moment only. Then fill it in batches of ten thousand rows and \
pause between them, so that the replicas keep up. While it runs, the application writes both columns and reads the \
old one. When the counts agree for a whole day, switch the reads behind a flag. Only when nobody has touched the flag \
for a week do we drop the old column. Each step can be deployed alone, and each can be undone by undoing one commit.""",
    """I reviewed the change and I like the direction. Three remarks before it goes in:

- `parse_header` returns an empty dictionary both when the header is missing and when it is malformed. The caller \
needs to tell these apart, because one of them is an attack.
- The new cache has no bound. With a key for each visitor it will hold every visitor since the last restart.
- The name `process` says nothing. What it does is normalise an address, so call it that.

None of this is large. The tests are good; the one about the trailing dot found a case that I would have missed.""",
    """Memory grows because every request leaves one closure behind. The handler registers a callback on the shared \
event bus and never removes it, and the callback holds the request, which holds the body. After a day there are \
ninety thousand of them, and each publish walks the whole list, which is why latency creeps up together with memory. \
I would not clear the list on a timer. Let the subscription be a context manager, so that leaving the handler ends \
it, and add a gauge that counts the subscribers. It should sit near the number of requests in flight and stay there.""",
    """Before we reach for a queue, let us look at the numbers. There are about forty uploads a minute at the peak, \
and each needs two seconds of work. That is eighty seconds of work a minute, so two processes are enough and three \
leave room. A table with a status column, a row lock that skips what others hold, and a loop that sleeps when there \
is nothing to do will carry this for a long time. It also survives a restart with no further thought, and anybody can \
see what is waiting with a single query. If we outgrow it, the interface stays the same: put a job in, get it once.""",
)

THOUGHTS = (
    """The user wants to know why it fails only sometimes. That smells like a race. What differs between the two \
runs? The order of teardown, and the speed of the machine. Let me check which resource is shared by both. The \
connection is. So the worker may still be using it when the fixture closes it. I should look at the fixture before I \
suggest anything, and then explain the order of events in plain words.""",
    """There are two ways to read this request. Either they want the whole module rewritten, or they want the one \
function made testable. The title says testable, and the diff is small, so the second is more likely. I will keep \
the names that the rest of the code already uses. I should also mention the clock, because passing the date in is \
what makes the test possible at all.""",
    """Let me think about what the planner does here. It has an index on one column and must sort on another. Fifty \
rows are wanted, two million are read. A combined index would give the order for free. The cost is in writes; they \
said the table grows slowly, so that is fine. I want to be careful with the numbers and say what I measured.""",
    """They ask me to run a command. First I need to see what is there, because a path given from memory may be \
wrong. Reading is safe. I will list the folder, then read the configuration, and only then decide what to change. If \
the file is not what they described I will say so instead of guessing.""",
)

REFUSALS = (
    """I'm sorry, but I can't help with switching off the audit log so that nobody notices. If a rule of the log is in \
the way of honest work, I can help you to describe it to the people who own it.""",
    """I can't help with getting at another person's mailbox without their consent. If you have lost the way into \
your own account, I can walk you through recovering it.""",
)

_PIECES = re.compile(r"\s*\w{1,6}|\s*[^\w\s]{1,3}|\s+")


def tokens(text: str) -> list[str]:
    """Cut text into pieces of about four characters, which join to the same text."""
    return _PIECES.findall(text)


def content_tokens(rng: Random, count: int | None) -> list[str]:
    """`count` pieces of text, from as many passages as that takes; all of one passage if `count` is None."""
    passages = rng.sample(PASSAGES, len(PASSAGES))
    if count is None:
        return tokens(passages[0])
    return list(islice(_endless(passages), count))


def _endless(passages: list[str]) -> Iterator[str]:
    for passage in cycle([tokens(passage) for passage in passages]):
        yield from passage
        yield "\n\n"
