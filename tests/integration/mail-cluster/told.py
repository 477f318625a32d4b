# SPDX-License-Identifier: GPL-3.0-or-later
"""
told.py - what clients of a cluster have been told, and whether what they see agrees with it.

Flow: mailload.py's clients -> Told: begin(), note(), a Session for each POP3 session ->
      Violation, at the moment in which something is seen that may not be.

A mail has a token, which is in its text and in no other mail; its text can be made again from
token and size. For each recipient it is

    under way   its client has begun to deliver it
    taken       250: from now on each session sees it, until its deletion is tried
    refused     4xx or 5xx: nobody has it in the end, but a store's process that was killed meanwhile
                may have it delivered
    open        the connection ended before the reply: it is there, or it is not

and its deletion is not tried, tried, or confirmed (+OK to QUIT). settle() is for a cluster that is
well and has no clients: it takes what each mailbox has, and from then on that stays so. What is open and
not there may be finished by the next process of its store, and has one round more to come.

Nothing here opens a connection or waits. All times are of one monotonic clock.
"""

import re
import threading
import time

UNDER_WAY, TAKEN, REFUSED, OPEN = "under way", "taken", "refused", "open"
NOT_TRIED, TRIED, CONFIRMED = "not tried", "tried", "confirmed"

HEAD = re.compile(rb"((?:(?:Return-Path|Received): .*\r\n(?:[\t ].*\r\n)*)*)From: <sender@example\.net>\r\n"
                  rb"Subject: (\S+)\r\nX-Size: (\d+)\r\n\r\n")


class Violation(AssertionError):
    """What clients were told does not hold."""


def text_of(token, size):
    """A mail of about that size; some of its lines begin with a dot."""
    head = f"From: <sender@example.net>\r\nSubject: {token}\r\nX-Size: {size}\r\n\r\n"
    line = f".{token} " + "0123456789" * 5 + f"\r\n{token}\r\n"
    return (head + line * (size // len(line)) + f"end of {token}\r\n").encode()


def read_text(octets):
    """(token, whether it is as it was sent) of a mail that was fetched."""
    head = HEAD.match(octets)
    if not head:
        return None, False
    token, size = head.group(2).decode(), int(head.group(3))
    return token, octets[len(head.group(1)):] == text_of(token, size)


class Entry:
    """A mail of a mailbox."""

    def __init__(self, node, began):
        self.node = node
        self.began = began
        self.state = UNDER_WAY
        self.since = began
        self.ident = None
        self.deletion = NOT_TRIED
        self.deleted_at = None
        self.is_overdue = False  # it was open at the end of a round, and not there


class Session:
    """
    A POP3 session of a mailbox, in the order of its calls: asked (made), opened() at +OK,
    sees() with all unique ids, tries() before QUIT, ended().
    """

    def __init__(self, told, box, node):
        self.told, self.box, self.node = told, box, node
        self.asked = time.monotonic()
        self.opened_at = None
        self.quit_at = None
        self.tokens = []

    def opened(self):
        self.opened_at = time.monotonic()

    def sees(self, idents):
        """Unique ids of all mails. Those that nothing is known of yet: their mails want to be read."""
        return self.told.see(self, idents)

    def reads(self, ident, octets):
        return self.told.read(self, ident, octets)

    def tries(self, tokens):
        self.tokens = list(tokens)
        self.told.try_deletion(self.box, self.tokens)
        self.quit_at = time.monotonic()

    def ended(self):
        """+OK to QUIT."""
        self.told.confirm(self)


class Told:
    """Of all clients; a lock makes its functions one at a time."""

    def __init__(self, prefix, are_ids_said=True):
        """are_ids_said: the id in a reply to a delivery is that of all recipients."""
        self.prefix = prefix
        self.are_ids_said = are_ids_said
        self.lock = threading.Lock()
        self.count = 0
        self.entries = {}  # box: {token: Entry}
        self.tokens = {}  # (box, ident): token
        self.deleters = {}  # box: [(opened, quit, node)] of those that have deleted something
        self.gone = {}  # box: tokens of mails that never come again
        self.kills = []  # (time, node) of stores' processes
        self.has_dead_disk = False  # since all was at rest: mails that it has are said to be damaged
        self.counts = {}

    def _count(self, word, number=1):
        self.counts[word] = self.counts.get(word, 0) + number

    def _fail(self, text):
        raise Violation(f"{self.prefix}: {text}")

    # ---- failures ----

    def note_kill(self, node=None):
        """A store's process was killed, or without a node: mails that are refused now may be there."""
        with self.lock:
            self.kills.append((time.monotonic(), node))

    def _is_excused(self, entry):
        return any(when >= entry.began and node in (None, entry.node) for when, node in self.kills)

    # ---- deliveries ----

    def begin(self, boxes, node):
        """The token of a new mail."""
        with self.lock:
            self.count += 1
            token = f"{self.prefix}-{self.count}"
            for box in boxes:
                self.entries.setdefault(box, {})[token] = Entry(node, time.monotonic())
            return token

    def note(self, token, box, state, ident=None):
        with self.lock:
            self._count(state)
            entry = self.entries[box][token]
            entry.state, entry.since = state, time.monotonic()
            if ident is not None and self.are_ids_said:
                self._name(box, ident, token)

    def _name(self, box, ident, token):
        if self.tokens.setdefault((box, ident), token) != token:
            self._fail(f"{box}: id {ident} is of {self.tokens[box, ident]} and of {token}")
        entry = self.entries[box][token]
        if entry.ident not in (None, ident):
            self._fail(f"{box}: {token} has the ids {entry.ident} and {ident}")
        entry.ident = ident

    # ---- sessions ----

    def see(self, session, idents):
        with self.lock:
            if len(set(idents)) != len(idents):
                self._fail(f"{session.box} at {session.node}: an id is there twice")
            known = {self.tokens[session.box, ident] for ident in idents if (session.box, ident) in self.tokens}
            self._refuse_gone(session, known)
            for token, entry in self.entries.get(session.box, {}).items():
                self._compare(session, token, entry, token in known)
            return [ident for ident in idents if (session.box, ident) not in self.tokens]

    def _refuse_gone(self, session, tokens):
        if back := self.gone.get(session.box, set()).intersection(tokens):
            self._fail(f"{session.box} at {session.node}: {sorted(back)} had gone, and are there")

    def _compare(self, session, token, entry, is_there):
        what = f"{session.box} at {session.node}: {token} (id {entry.ident}, by {entry.node})"
        if is_there and entry.deletion == CONFIRMED and entry.deleted_at < session.asked:
            self._fail(f"{what} is there, {session.asked - entry.deleted_at:.1f} s after its deletion")
        if (not is_there and entry.state == TAKEN and entry.ident is not None and entry.since < session.asked
                and entry.deletion == NOT_TRIED):
            self._fail(f"{what} is not there, {session.asked - entry.since:.1f} s after it was taken")

    def read(self, session, ident, octets):
        """A mail that a session has fetched; its token."""
        token, is_whole = read_text(octets)
        with self.lock:
            self._refuse_gone(session, [token])
            if token not in self.entries.get(session.box, {}):
                self._fail(f"{session.box} at {session.node}: {token} (id {ident}) is not of this mailbox")
            if not is_whole:
                self._fail(f"{session.box} at {session.node}: {token} (id {ident}) is not as it was sent")
            self._name(session.box, ident, token)
        return token

    def token_of(self, box, ident):
        with self.lock:
            return self.tokens.get((box, ident))

    def try_deletion(self, box, tokens):
        with self.lock:
            for token in tokens:
                entry = self.entries[box][token]
                if entry.deletion == NOT_TRIED:
                    entry.deletion = TRIED

    def confirm(self, session):
        with self.lock:
            now = time.monotonic()
            self._count("deleted", len(session.tokens))
            for token in session.tokens:
                entry = self.entries[session.box][token]
                if entry.deletion == CONFIRMED:
                    self._fail(f"{session.box} at {session.node}: the deletion of {token} is confirmed again")
                entry.deletion, entry.deleted_at = CONFIRMED, now
            if session.tokens:
                self._note_deleter(session)

    def _note_deleter(self, session):
        """Two sessions that had the mailbox at the same time do not both delete."""
        mine = (session.opened_at, session.quit_at, session.node)
        others = self.deleters.setdefault(session.box, [])
        for opened, quit_at, node in others:
            if opened < mine[1] and mine[0] < quit_at:
                self._fail(f"{session.box}: two sessions had it and deleted, at {node}"
                           f" {opened:.3f} to {quit_at:.3f} and at {mine[2]} {mine[0]:.3f} to {mine[1]:.3f}")
        others.append(mine)
        del others[:-50]

    # ---- at rest ----

    def settle(self, found, node):
        """
        found is {box: [(ident, octets), ...]}, as a node has them. [] and what is open is decided;
        or texts about mails that were refused and are there, which may go yet.
        """
        late = []
        for box in set(self.entries) | set(found):
            session = Session(self, box, node)
            tokens = [session.reads(ident, octets) for ident, octets in found.get(box, ())]
            if len(set(tokens)) != len(tokens):
                self._fail(f"{box} at {node}: a mail is there twice: {sorted(tokens)}")
            with self.lock:
                late += [text for token, entry in self.entries.get(box, {}).items()
                         for text in self._look(box, node, token, entry, token in tokens)]
        if not late:
            self._decide(found)
        return late

    def _look(self, box, node, token, entry, is_there):
        what = f"{box} at {node}: {token} (id {entry.ident}, by {entry.node})"
        if entry.deletion == CONFIRMED and is_there:
            self._fail(f"{what} is there, and its deletion was confirmed")
        if entry.state == TAKEN and entry.deletion == NOT_TRIED and not is_there:
            self._fail(f"{what} was taken, and is lost")
        if entry.state == REFUSED and is_there and not self._is_excused(entry):
            return [f"{what} was refused, and is there"]
        return []

    def _decide(self, found):
        """What is there stays, what is not does not come."""
        with self.lock:
            there = {box: {self.tokens[box, ident] for ident, _ in mails} for box, mails in found.items()}
            for box, entries in self.entries.items():
                for token in list(entries):
                    entry = entries[token]
                    if token in there.get(box, ()):
                        entry.state, entry.deletion, entry.since = TAKEN, NOT_TRIED, time.monotonic()
                    elif self._may_come(entry):
                        entry.state, entry.is_overdue = OPEN, True
                    else:
                        del entries[token]
                        self.gone.setdefault(box, set()).add(token)
            self.kills.clear()
            self.has_dead_disk = False

    def _may_come(self, entry):
        is_open = entry.state == OPEN or (entry.state == REFUSED and self._is_excused(entry))
        return is_open and entry.deletion == NOT_TRIED and not entry.is_overdue

    # ---- what is said of it ----

    def lines(self):
        """All of it, for evidence."""
        with self.lock:
            return [f"{box} {token} {entry.ident} by={entry.node} began={entry.began:.3f} {entry.state}"
                    f" since={entry.since:.3f} deletion={entry.deletion} at={entry.deleted_at}"
                    for box, entries in sorted(self.entries.items()) for token, entry in entries.items()]
