"""Constants of the exponential that the kernels compute themselves.

A call to the C library for every value keeps a loop from becoming vector instructions, and one exponential a value is
what kernel machines and logistic losses cost. So the kernels write it out: e^x = 2^k · e^r with k the whole number next
to x / ln 2, a polynomial for e^r, and 2^k put together from its bits. r = x - k·ln 2 is taken with ln 2 as one number,
so the relative error grows with |x|: 5e-16 (two units in the last place) down to x = -10, 2e-15 at -50, 7e-15 at -200
and 2e-14 at -700. Where small e^x are added to numbers near 1, which is what they are for, that is nothing. Single
precision is right to 4e-7 down to -50.
"""

from math import factorial, log

LN_2 = log(2.0)
LOG2_E = 1.0 / LN_2
LEAST = -700.0
"""Exponents below it count as this: 2^k stays a normal number, and e^-700 is nothing beside 1."""
WHOLE = 1.5 * 2.0**52
"""Added to a whole number, it leaves that number in the lowest bits."""
BIAS = 1023
MANTISSA_BITS = 52
LEAST_SINGLE, WHOLE_SINGLE, BIAS_SINGLE, MANTISSA_BITS_SINGLE = -80.0, 1.5 * 2.0**23, 127, 23
"""The same for single precision."""
# 1/2! to 1/12! in the series of e^r for |r| ≤ ½ ln 2: what is left out is below 2e-16 (after 1/6!: below 2e-7).
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (1.0 / factorial(power) for power in range(2, 13))
