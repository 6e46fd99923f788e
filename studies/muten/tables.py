"""Tables of the page: ours, and in italics beside it the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from mutiny.core.stats import Rate
from studies.muten import arms, choice, comparisons, defenses, number, paper, saturation
from studies.muten.comparisons import Side
from studies.muten.defended import DEFENSES, NONE
from studies.muten.gains import Gain
from studies.muten.results import Results
from studies.muten.subjects import ORDER, TARGETS, Target
from studies.store import number as number_of
from studies.writing import NOT_RUN, markdown

NOTHING = "no image right"
"""Said where every answer was wrong before the attack."""


def cell(rate: Rate | None) -> str:
    """A share in per cent with its interval.

    >>> cell(Rate.of([True, True, False, False])), cell(None)
    ('50 (7-93)', 'not run')
    """
    if rate is None or rate.value is None:
        return NOT_RUN if rate is None else NOTHING
    low, high = (100 * end for end in (rate.interval.low, rate.interval.high))
    return f"{100 * rate.value:.0f} ({low:.0f}-{high:.0f})"


def plain(value: float | None, digits: int = 0, factor: float = 100) -> str:
    """A number alone."""
    return NOT_RUN if value is None else f"{factor * value:.{digits}f}"


def difference(gain: Gain | None) -> str:
    """A gain in points with its interval, bold if it is significant."""
    if gain is None:
        return NOT_RUN
    low, high = (100 * end for end in (gain.interval.low, gain.interval.high))
    text = f"{100 * gain.value:+.1f} ({low:+.1f} to {high:+.1f})"
    return f"**{text}**" if gain.clear else text


def subjects(results: Results) -> str:
    """Table I, and how many images are attacked."""
    rows, body = {row["subject"]: row for row in results.subjects}, []
    for name in ORDER:
        row, theirs = rows.get(name), f"*{100 * paper.ACCURACY[name]:.2f}*"
        if row is None:
            body.append([name, f"*{paper.NAMES[name]}*", *[NOT_RUN] * 4, theirs, NOT_RUN])
            continue
        rounds = int(row["rounds"])
        body.append(
            [
                name,
                f"*{paper.NAMES[name]}*",
                f"{row['network']}, {int(row['weights']):,} weights",
                f"{int(row['train']):,} / {int(row['test']):,}",
                f"{row['epochs']} epochs, batch {row['batch_size']}, learning rate {row['learning_rate']}",
                f"{100 * float(row['accuracy']):.2f}",
                theirs,
                f"{rounds} x {row['images']}, {rounds} x {row['few']}",
            ]
        )
    head = ["subject", "*paper*", "network", "train / test images", "training", "accuracy, %", "*paper*"]
    return markdown([*head, "images attacked by PGD, C&W"], body)


def answer(results: Results) -> str:
    """The comparisons, each as the mean over all distances of Fig. 2."""
    body = [
        [one.title, *(difference(results.gain(name, one, TARGETS[name].levels)) for name in ORDER)]
        for one in comparisons.ALL
    ]
    return markdown(["MUTEN's points of success more than", *(TARGETS[name].title for name in ORDER)], body)


def by_round(results: Results) -> str:
    """The same, round by round."""
    body = []
    for one in (comparisons.PAPERS, comparisons.STARTS, comparisons.FAIR):
        found = [results.gain(name, one, TARGETS[name].levels) for name in ORDER]
        texts = [NOT_RUN if gain is None else " / ".join(f"{100 * v:+.1f}" for v in gain.rounds) for gain in found]
        body.append([one.title, *texts])
    return markdown(["MUTEN's points of success more than", *(TARGETS[name].title for name in ORDER)], body)


def epsilon(results: Results, subject: str, attack: str) -> str:
    """Fig. 2: a row per level."""
    target, names = TARGETS[subject], arms.of(attack)
    beside = attack == arms.ART and subject == paper.LAST_AT[0]
    body = []
    for level in target.levels if attack in arms.STEPS else target.constants:
        cells = [cell(results.success(subject, Side(attack, arm), level)) for arm in names]
        if beside:
            at = level == paper.LAST_AT[1]
            cells += [f"*{100 * value:.0f}*" if at else "" for value in paper.LAST]
        body.append([level, *cells])
    head = ["eps" if attack in arms.STEPS else "c", *(arms.TITLES[arm] for arm in names)]
    return markdown([*head, *(["*paper, alone*", "*paper, MUTEN*"] if beside else [])], body)


def of_all(results: Results, subject: str) -> str:
    """Fig. 2 with all images, both steps."""
    sides = [Side(attack, arm) for attack in arms.STEPS for arm in arms.FOUR]
    body = []
    for level in TARGETS[subject].levels:
        found = [results.success(subject, side, level, of_all=True) for side in sides]
        body.append([level, *(plain(one.value if one else None) for one in found)])
    return markdown(["eps", *(f"{arms.ATTACKS[side.attack]}: {arms.TITLES[side.arm]}" for side in sides)], body)


def nearest(results: Results) -> str:
    """Carlini and Wagner with a search: success, and how far the found images are."""
    body = []
    for name in ORDER:
        level = TARGETS[name].constant
        for arm in arms.THREE:
            side = Side(arms.SEARCHED, arm)
            far = [results.mean(name, side, level, column) for column in ("l2_mean", "l2_median")]
            rates = [cell(results.success(name, side, level, of_all=every)) for every in (False, True)]
            body.append([TARGETS[name].title, level, arms.TITLES[arm], *rates, *(plain(one, 3, 1) for one in far)])
    head = ["network", "c", "arm", "success of correct, %", "success of all, %", "mean L2", "median L2"]
    return markdown(head, body)


def _gain_text(results: Results, subject: str, attack: str, level: str, arm: str) -> str:
    compared = comparisons.Comparison("", Side(attack, arm), Side(attack, arms.ORIGINAL))
    return difference(results.gain(subject, compared, [level]))


def numbers(results: Results, subject: str) -> str:
    """Fig. 3: gain over the original alone, a row per number of mutants."""
    every = number.cases(TARGETS[subject])
    body = []
    for n in number.COUNTS:
        cells = []
        for attack, level in every:
            cells.append(_gain_text(results, subject, attack, level, f"diverse {n}"))
            alone = number.alone(attack, n)
            cells.append(_gain_text(results, subject, attack, level, alone) if n in number.ALONE else "")
            theirs = _paper_number(subject, attack, n)
            cells += [] if theirs is None else [theirs]
        body.append([str(n), *cells])
    head = [
        title
        for attack, level in every
        for title in (
            f"{arms.ATTACKS[attack]}, at {level}: MUTEN",
            "alone, same passes",
            *(["*paper*"] if _paper_number(subject, attack, 1) is not None else []),
        )
    ]
    return markdown(["mutants", *head], body)


def _paper_number(subject: str, attack: str, n: int) -> str | None:
    """What the paper says, nothing where it says nothing; ``None`` where it never does."""
    if subject != paper.NUMBER_OF or attack not in paper.NUMBER:
        return None
    value = paper.NUMBER[attack].get(n)
    return "" if value is None else f"*{100 * value:+.0f}*"


def kinds(results: Results, subject: str) -> str:
    """Fig. 4: a row per attack and level, with how alike the members are."""
    body = []
    for attack, levels in _by_attack(TARGETS[subject]):
        for level in levels[:: choice.EVERY]:
            sides = [Side(attack, arm) for arm in choice.ARMS.values()]
            alike = [plain(results.mean(subject, side, level, "similarity"), 2, 1) for side in sides]
            rates = [cell(results.success(subject, side, level)) for side in sides]
            body.append(
                [arms.ATTACKS[attack], level, *rates, " / ".join(alike) if set(alike) != {NOT_RUN} else NOT_RUN]
            )
    return markdown(["attack", "eps or c", *choice.ARMS, "similarity (CKA)"], body)


def _by_attack(target: Target) -> list[tuple[str, Sequence[str]]]:
    return [*((attack, target.levels) for attack in arms.STEPS), (arms.FIXED, target.constants)]


def saturated(results: Results, subject: str) -> str:
    """Both losses on both networks: success of the original alone, and with mutants of each kind."""
    body = [
        [
            "as trained" if network == NONE else network,
            arms.ATTACKS[attack],
            level,
            *(cell(results.success(subject, Side(attack, arm), level, network)) for arm in saturation.ARMS),
        ]
        for network in saturation.NETWORKS
        for attack in saturation.ATTACKS
        for level in TARGETS[subject].levels[:: choice.EVERY]
    ]
    names = [arms.TITLES.get(arm, f"5 {arm.split()[0]} mutants") for arm in saturation.ARMS]
    return markdown(["network", "attack", "eps", *names], body)


def defended(results: Results, subject: str) -> str:
    """Table III."""
    body = []
    beside = subject == paper.DEFENSES_OF
    for attack, level in defenses.cases(TARGETS[subject]):
        for defense in (NONE, *DEFENSES):
            found = [results.success(subject, Side(attack, arm), level, defense) for arm in arms.of(attack)]
            cells = [cell(one) for one in found]
            if len(cells) < len(arms.FOUR):
                cells.insert(2, "-")
            theirs = paper.DEFENSES.get(defense) if beside and attack == arms.ART else None
            texts = ["", ""] if theirs is None else [f"*{100 * value:.0f}*" for value in theirs[1:]]
            body.append([f"{arms.ATTACKS[attack]}, at {level}", defense, *cells, *(texts if beside else [])])
    head = ["attack", "defense", *(arms.TITLES[arm] for arm in arms.FOUR)]
    return markdown([*head, *(["*paper, alone*", "*paper, MUTEN*"] if beside else [])], body)


def accuracies(results: Results) -> str:
    """Accuracy of the defended networks."""
    body = []
    for defense in (NONE, *DEFENSES):
        cells = [plain(results.accuracy(name, defense), 2) for name in ORDER if TARGETS[name].whole]
        theirs = paper.DEFENSES[defense][0] if defense in paper.DEFENSES else paper.ACCURACY[paper.DEFENSES_OF]
        body.append([defense, *cells, f"*{100 * theirs:.2f}*"])
    names = [TARGETS[name].title for name in ORDER if TARGETS[name].whole]
    return markdown(["accuracy, %", *names, f"*{paper.NAMES[paper.DEFENSES_OF]}*"], body)


def passes(results: Results) -> str:
    """Forward and backward passes per image at the level of Table III: who had which budget."""
    body = []
    for attack in (*arms.STEPS, arms.SEARCHED, arms.FIXED):
        for arm in arms.of(attack):
            cells = []
            for name in ORDER:
                level = TARGETS[name].level if attack in arms.STEPS else TARGETS[name].constant
                rows = results.of(name, Side(attack, arm), level)
                images = sum(int(row["images"]) for row in rows)
                cells.append(f"{sum(int(row['passes']) for row in rows) / images:,.0f}" if images else NOT_RUN)
            body.append([arms.ATTACKS[attack], arms.TITLES[arm], *cells])
    return markdown(["attack", "passes per image", *(TARGETS[name].title for name in ORDER)], body)


def times(results: Results) -> str:
    """What each network took."""
    trained, body = {row["subject"]: row for row in results.subjects}, []
    for name in ORDER:
        rows = [row for row in results.assaults if row["subject"] == name]
        spent = [sum(number_of(row, column) or 0 for row in rows) for column in ("seconds", "cpu_seconds")]
        training = number_of(trained.get(name), "training_seconds") or 0.0
        body.append([TARGETS[name].title, str(len(rows)), *(f"{value / 60:.1f}" for value in (*spent, training))])
    head = ["network", "attacks", "wall minutes", "processor minutes", "training (0 if it was there)"]
    return markdown(head, body)
