"""The words by which the linter knows verdicts, clocks, memory and judgement.

The lists are short on purpose: a word is here only if a sentence that uses it can hardly be decided from
the arguments of a call. Each pattern is tried on one sentence in lower case.
"""

from __future__ import annotations

import re

from ironcurtain.model.verdict import Verdict


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WHO = r"(?:agents?|assistants?|it|they|you|anyone|everyone)"
_HOW = r"(?:(?:also|always|freely|only|then|still) )*"
_DONE = r"(?:\w+ed|\w+en|read|sent|put|made|run|set|shown|seen|kept|held|left|cut|paid|found)"
_OF_SOMETHING = r"(?<!that )(?<!which )(?<!who )"
"""Not behind these: `what cannot be undone` describes a thing and forbids nothing."""

VERDICTS: tuple[tuple[Verdict, re.Pattern[str]], ...] = (
    (
        Verdict.ESCALATE,
        re.compile(
            r"\b(?:needs?|requires?|requiring|after) (?:[\w']+ ){0,2}(?:approval"
            r"|confirmation|permission|consent)\b"
            r"|\bwith (?:[\w']+ ){0,2}(?:approval|consent)\b"
            r"|\b(?:must|has to|have to|should|shall|always) (?:[\w']+ ){0,2}(?:ask"
            r"|confirm)\b(?: [\w']+)?(?: first| before)?"
            r"|\basks? (?:[\w']+ ){0,2}(?:first|before)\b"
            r"|\b(?:is|are|be) (?:escalated|asked about|approved by)\b"
        ),
    ),
    (
        Verdict.DENY,
        re.compile(
            rf"{_OF_SOMETHING}\b(?:must|may|can|should|shall)(?: not|n't)\b(?! only)(?! need)(?! have to)"
            rf"|{_OF_SOMETHING}\b(?:cannot|never)\b(?! (?:ask|need))"
            r"|\b(?:is|are) (?:not (?:allowed|permitted)|never allowed"
            r"|forbidden|prohibited|denied|refused|off limits)\b"
            r"|\b(?:nothing|nobody|no one) (?:\w+ ){0,2}(?:may|can)\b|^(?:do not|don't)\b"
        ),
    ),
    (
        Verdict.ALLOW,
        re.compile(
            rf"\b{_WHO} {_HOW}(?:may|can) (?!not\b|never\b|only\b)"
            rf"|(?:,|\band|\bbut) (?:may|can) (?!not\b|never\b|only\b)"
            rf"|{_OF_SOMETHING}\b(?:may|can) (?=(?:(?:also|always|freely) )*be {_DONE}\b)"
            r"|\b(?:is|are) (?:always |freely )?(?:allowed|permitted)\b|^allow\b"
        ),
    ),
)
"""What each verdict sounds like, in the order in which they are looked for and taken out of a sentence."""

UNLESS_ASKED = re.compile(
    r"\bwithout (?:[\w']+ ){0,2}(?:approval|confirmation|permission|consent|asking)(?: first)?\b"
)
"""What turns a denial into a question: `must not push without approval`."""

ANY_VERDICT = re.compile(
    r"\b(?:may|must|can|cannot|can't|should|shall|never|always"
    r"|only|allow\w*|permit\w*|forbid\w*|forbidden|prohibit\w*"
    r"|den(?:y|ies|ied)|refus\w*|approv\w*|ask\w*|confirm\w*|needs?|requires?|consent|free to|off limits"
    r"|do not|don't|supersede\w*|instead|except\w*|unless)\b"
)
"""A sentence without any of these says nothing about what may be done."""

CLOCK = re.compile(
    r"\b(?:with)?in (?:the )?(?:last |next |past )?(?:\d+|an?|one|two|three|a few|twenty-four) ?"
    r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
    r"|\b(?:recent(?:ly)?|today|tomorrow|yesterday|tonight|nowadays|currently)\b"
    r"|\b(?:older|newer|longer|more|less) than (?:\d+|an?"
    r"|one) ?(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
    r"|\b(?:during|outside|in|after) (?:the )?(?:\w+ )?(?:business"
    r"|working|work|office|school) (?:hours|time|days)\b"
    r"|\b(?:at night|at the weekend|on (?:weekends?|weekdays|mondays?|sundays?|saturdays?))\b"
    r"|\b(?:before|after|between|until|by) \d{1,2}(?::\d\d| ?[ap]m| o'clock)\b"
    r"|\b(?:last|next|this) (?:week|month|year|quarter)\b"
)
STATE = re.compile(
    r"\b(?:\d+|one|two|three|ten|twice|once) (?:\w+ )?(?:times"
    r"|calls|messages|mails|requests) (?:per|an?|each|every) \w+"
    r"|\b(?:more than|at most|no more than|up to) (?:\d+|once|twice) times\b"
    r"|\bper (?:session|minute|hour|day|week|month|year|person)\b|\b(?:twice|once) (?:an?|per) \w+\b"
    r"|\b(?:already|previously|the first time|the second time|in a row|so far|in total)\b"
    r"|\bsince the (?:last|start|beginning)\b|\bearlier in\b"
    r"|\b(?:has|have|had) (?:just |not |never )?(?:been )?(?:read"
    r"|opened|sent|written|created|asked|approved|seen|made|used)"
    r" (?:\w+ )?(?:before|earlier|yet)\b"
)
JUDGEMENT = re.compile(
    r"\b(?:suspicious|reasonabl[ey]|unreasonabl[ey]"
    r"|(?:in)?appropriate(?:ly)?|sensitive|confidential|harmful|dangerous"
    r"|malicious|trustworthy|legitimate|necessary|unnecessary"
    r"|relevant|irrelevant|urgent|sensible|sensibly|careful(?:ly)?"
    r"|offensive|polite(?:ly)?|helpful|honest(?:ly)?|responsibl[ey]"
    r"|ethical(?:ly)?|unusual(?:ly)?|excessive(?:ly)?|obvious(?:ly)?"
    r"|well-known|reputable|too (?:many|much|large|big|long|often)"
    r"|huge|when in doubt|if needed|as needed|where possible"
    r"|if possible|unless it matters|best judge?ment|common sense|good faith|makes? sense)\b"
)

FILLER = _set(
    "a an the this that these those of to for with by at on in "
    "into from it its he she they them their you your we our "
    "i me my and or but if so as is are be been being do does "
    "doing did done has have had will would may might must "
    "can could should shall not no never ever always only also "
    "just very really then than there here what which who "
    "whom whatever whenever wherever however agent agents "
    "assistant assistants ai model user person people anything "
    "something everything nothing thing things stuff all any "
    "some every each act acts behave behaves work works go "
    "allowed permitted forbidden prohibited denied refused ask "
    "asks asked asking approval approved approve first before "
    "need needs wish wishes want wants like likes please need needed without freely fine ok okay bad good"
)
"""Words that name no tool, no place, no person and no effect."""

NOISE = _set(
    "a an the any all every each is are be been being does "
    "do has have the agent agents assistant may can must "
    "always it they he she them"
)
"""Words that two sentences may differ in and still speak of the same."""
