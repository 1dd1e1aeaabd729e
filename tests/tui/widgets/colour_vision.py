"""Contrast, and how far apart two colours look to different eyes.

Contrast is that of WCAG 2. Distances are Euclidean in OKLab; the dichromacies are simulated in linear RGB
with the matrices of Machado, Oliveira and Fernandes (2009) at full severity.
"""

import math

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]

IDENTITY: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
VISIONS: dict[str, Matrix] = {
    "common": IDENTITY,
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
_TO_CONES: Matrix = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_TO_LAB: Matrix = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


def linear(colour: str) -> Vector:
    """Return `#rrggbb` as linear RGB from 0 to 1."""
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return _linear(red), _linear(green), _linear(blue)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio, 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def distance(one: str, other: str, vision: str) -> float:
    """Return how far apart two colours look; 0.02 is about the least that can be seen side by side."""
    return math.dist(_seen(one, vision), _seen(other, vision))


def hue(colour: str) -> float:
    """Return the hue angle in OKLab, in degrees."""
    _, a, b = _seen(colour, "common")
    return math.degrees(math.atan2(b, a)) % 360


def chroma(colour: str) -> float:
    """Return how far a colour is from grey in OKLab; 0.1 is a pastel, pure blue has 0.31."""
    _, a, b = _seen(colour, "common")
    return math.hypot(a, b)


def _seen(colour: str, vision: str) -> Vector:
    simulated = _apply(VISIONS[vision], linear(colour))
    red, green, blue = (min(1.0, max(0.0, part)) for part in simulated)
    long, middle, short = (part ** (1 / 3) for part in _apply(_TO_CONES, (red, green, blue)))
    return _apply(_TO_LAB, (long, middle, short))


def _apply(matrix: Matrix, vector: Vector) -> Vector:
    first, second, third = (
        sum(factor * part for factor, part in zip(row, vector, strict=True)) for row in matrix
    )
    return first, second, third


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
