"""The words by which the linter knows verdicts, clocks, memory, records and judgement.

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

HEADED = re.compile(
    r"\b(?:allow\w*|permit\w*|forbid\w*|forbidden|prohibit\w*|den(?:y|ies|ied)|refus\w*|never|always"
    r"|(?:may|must|can|do) not|cannot|can't|don't|approv\w*|ask\w*|confirm\w*|escalat\w*|off limits)\b"
    r"|^(?:may|must)\b"
)
"""A heading with one of these gives a verdict to what stands below it: `Never`, `Allowed without asking`."""

ANY_VERDICT = re.compile(
    r"\b(?:may|must|can|cannot|can't|should|shall|not|never|always"
    r"|only|no|allow\w*|permit\w*|forbid\w*|forbidden|prohibit\w*"
    r"|den(?:y|ies|ied)|refus\w*|reject\w*|declin\w*|approv\w*|ask\w*|confirm\w*|escalat\w*"
    r"|needs?|requires?|required|consent|free|off limits|avoid\w*|ensure|make sure|verif(?:y|ies|ied)"
    r"|do not|don't|supersede\w*|instead|except\w*|unless|between|within|without|exceeds?"
    r"|at (?:most|least)|(?:no|not) (?:more|less|fewer|later|earlier) than|up to|limit(?:s|ed)?"
    r"|maximum|minimum|(?:non-?)?(?:refund|return|exchange|cancel|transfer)able)\b"
)
"""A sentence without any of these may well be an explanation."""

_AMOUNT = (
    r"(?:\d+(?:[.,]\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|twenty-four"
    r"|thirty|sixty|ninety|half an|a few|a couple of|several)"
)
_SHORT_UNIT = r"(?:secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?|months?)"
_SPAN = rf"{_AMOUNT}[ -]?(?:(?:business|working|calendar) )?(?:{_SHORT_UNIT}|h|yrs?|years?|quarters?)\b"
_AROUND_NOW = r"(?:last|next|past|coming|previous|first)"
_PERIOD = r"(?:second|minute|hour|day|week|month|quarter|year)"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TALK = r"(?:session|conversation|chat|call|interaction|shift)"
_DONE = r"(?:read|opened|sent|written|created|asked|approved|seen|made|used)"
_MANY = r"(?:(?:at|the) most|(?:(?:no|not) )?more than|up to|maximum(?: of)?|only|limited to|one|a single)"

CLOCK = re.compile(
    rf"\b(?:within|in) (?:the )?(?:{_AROUND_NOW} )?{_SPAN}"
    rf"|\b(?:for|during|over) the {_AROUND_NOW} {_SPAN}"
    rf"|\b(?:after|(?:older|newer) than) {_SPAN}"
    rf"|\b{_SPAN} (?:ago|from now|in advance|beforehand|before|after|prior to|following|since)\b"
    rf"|\b{_AMOUNT}[ -]{_SHORT_UNIT}[ -]old\b"
    rf"|\b(?:inactive|unused|idle|open|unpaid|overdue|outstanding) for (?:\w+ ){{0,2}}{_SPAN}"
    r"|\b(?:recent(?:ly)?|today|tomorrow|yesterday|tonight|nowadays|currently)\b"
    r"|\b(?:during|outside(?: of)?|in|after) (?:the )?(?:\w+ )?(?:business|opening"
    r"|working|work|office|school) (?:hours|time|days)\b"
    rf"|\b(?:at night|at (?:the )?weekends?|on (?:a )?(?:weekends?|weekdays?|{_DAY}s?))\b"
    rf"|\b{_DAY}s? (?:to|till|until|through|-|\u2013) {_DAY}s?\b"
    r"|\b(?:last|next|this) (?:week|month|year|quarter)\b"
)
"""Spans of time that are relative to now; a time of the day may be that of an argument."""

STATE = re.compile(
    r"\b(?:\d+|one|two|three|ten|twice|once) (?:\w+ )?(?:times"
    r"|calls|messages|mails|requests|attempts) (?:per|an?|each|every|in an?) \w+"
    rf"|\b{_MANY} (?:[\w'-]+ ){{1,5}}?(?:per|an?|each|every) (?:{_PERIOD}|{_TALK})\b"
    r"|\b(?:only|(?:at |the )?most|more than|just|exactly|up to)"
    r" (?:once|twice|(?:\d+|one|two|three|five|ten) times?)\b"
    rf"|\b(?:once|twice)(?: per \w+| (?:an?|each|every|in an?) (?:{_PERIOD}|{_TALK})\b| ?(?=[.,;!]|$))"
    rf"|\bcalls? at a time\b|\bper {_TALK}\b|\b(?:in|within|during) (?:one|the same|a single|each) {_TALK}\b"
    rf"|\bthe (?:start|beginning|end) of (?:the|each|every|an?) {_TALK}\b"
    r"|\b(?:hourly|daily|weekly|monthly|yearly|annual) (?:limit|quota|cap|maximum|allowance|budget)\b"
    r"|\b(?:already|previously|the first time|the second time|in a row|so far|in total)\b"
    r"|\bsince the (?:last|start|beginning)\b|\bearlier in\b"
    rf"|\b(?:has|have|had) (?:just |not |never )?(?:been )?{_DONE}"
    r" (?:\w+ )?(?:before|earlier|yet)\b"
    r"|\b(?:after|once|when|if|unless|until) (?:it|they|the agent|the session) (?:has|have|had) (?:been )?"
    rf"{_DONE}\b|\b(?:after|since) (?:reading|opening|seeing|fetching|downloading|receiving)\b"
)

_GIVEN = r"(?:if|unless|when|while|whose|where|as long as|provided|until|that|which)"
_IS = r"(?:is|are|was|were|has|have|had)"
RECORD = re.compile(
    rf"\b{_GIVEN} (?:[\w'-]+ ){{0,6}}?(?:status|balance)(?: of (?:[\w'-]+ ){{0,3}}?[\w'-]+)?"
    rf" (?:{_IS}|equals|shows|exceeds|covers|allows|permits|remains|stays)\b"
    rf"|\b{_GIVEN} (?:[\w'-]+ ){{0,6}}?{_IS} (?:(?:not|still|been|yet|currently|already) )*"
    r"(?:pending|delivered|shipped|processed|cancelled|canceled|locked|suspended|expired|overdue|inactive|flown|departed"
    r"|landed|resolved|merged|archived|fulfilled|available|(?:in|out of) stock)\b"
)
"""What stands in a record: a call's arguments name the record, and another tool's answer would tell."""

_USER = r"(?:i|we|(?:the |a |its |their )?users?|the person)"
_NAMED = r"(?:named|mentioned|typed|wrote|written)"
SAID = re.compile(
    rf"\b{_USER} (?:(?:have|has|had|explicitly|expressly|themselves|itself|myself|just) )*{_NAMED}\b"
    rf"|\b{_NAMED} by (?:me|us|the users?|a user|the person)\b"
)
"""What the user wrote in the session: a program of one's own knows it, a call does not say it."""

JUDGEMENT = re.compile(
    r"\b(?:suspicious|reasonabl[ey]|unreasonabl[ey]"
    r"|(?:in)?appropriate(?:ly)?|sensitive|confidential|harmful|dangerous"
    r"|malicious|trustworthy|legitimate|necessary|unnecessary"
    r"|relevant|irrelevant|sensible|sensibly|careful(?:ly)?"
    r"|offensive|polite(?:ly)?|helpful|honest(?:ly)?|responsibly"
    r"|ethical(?:ly)?|unusual(?:ly)?|excessive(?:ly)?|obvious(?:ly)?"
    r"|well-known|reputable|too (?:many|much|large|big|long|often)"
    r"|huge|when in doubt|if needed|as needed|where possible"
    r"|if possible|unless it matters|best judge?ment|common sense|good faith|makes? sense)\b"
    r"(?! (?:folder|directory|drive|list|label|tag|channel|project|calendar|group)s?\b)"
)
"""What somebody has to judge; before a word such as `folder` it is rather a name."""

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
