// SPDX-License-Identifier: GPL-3.0-or-later
// The program that catch_first.hh is compiled for; it is never run.
int main()
{
}
