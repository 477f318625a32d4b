# SPDX-License-Identifier: GPL-3.0-or-later
"""
search.py - the largest number of users that passes, by doubling and halving.

Flow: bench/mail-users says whether a number of users passes -> find_most() -> Found -> users_page.py.

Numbers are those of a grid, start x 2^(k/16), so that two searches from one start try the same ones, and one
decision that goes the other way near the threshold moves the verdict by 4.4 %. Nothing here runs anything.
"""
import collections

GRID = 16  # numbers in a doubling

# most: users that passed, 0: none; fails_at: the least that did not, None: there is none; tried: [(users, passes)];
# is_close: nothing of the grid is between the two.
Found = collections.namedtuple("Found", "most fails_at tried is_close")


class Bracket:
    """The grid, what was tried on it, and between which two of it the threshold is."""

    def __init__(self, passes, start, steps_max, may_go_on):
        self.passes, self.start = passes, start
        self.left, self.may_go_on = steps_max, may_go_on
        self.low = self.high = None  # of the grid
        self.tried = []

    def users(self, number):
        return max(1, round(self.start * 2 ** (number / GRID)))

    def may_try(self):
        return self.left > 0 and self.may_go_on()

    def try_at(self, number):
        self.left -= 1
        users = self.users(number)
        has_passed = self.passes(users)
        self.tried.append((users, has_passed))
        if has_passed:
            self.low = number
        else:
            self.high = number

    def is_close(self):
        return (self.low is not None and self.high is not None
                and (self.high - self.low <= 1 or self.users(self.high) - self.users(self.low) <= 1))


def find_outside(bracket, most):
    """Doubling until one fails, or from a start that fails halving until one passes."""
    number = 0
    while bracket.may_try():
        if bracket.users(number) > most:
            return
        bracket.try_at(number)
        if bracket.low is not None and bracket.high is not None:
            return
        if bracket.low is None and bracket.users(number) == 1:
            return
        number += GRID if bracket.high is None else -GRID


def find_most(passes, start, steps_max=24, most=float("inf"), may_go_on=lambda: True):
    """
    passes(users) tries a number, most is the largest that may be tried. The search ends when the bracket
    is closed, after steps_max numbers, or when may_go_on() says so.
    """
    bracket = Bracket(passes, start, steps_max, may_go_on)
    find_outside(bracket, most)
    while bracket.low is not None and bracket.high is not None and not bracket.is_close() and bracket.may_try():
        bracket.try_at((bracket.low + bracket.high) // 2)
    return Found(0 if bracket.low is None else bracket.users(bracket.low),
                 None if bracket.high is None else bracket.users(bracket.high), bracket.tried, bracket.is_close())
