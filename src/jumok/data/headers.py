"""Names of columns: which of them hold the source and the target, and in which language."""

import re
from collections.abc import Sequence
from statistics import median

ROLES = (
    ("source", "target"),
    ("src", "tgt"),
    ("src", "trg"),
    ("from", "to"),
    ("input", "output"),
    ("input", "target"),
    ("question", "answer"),
    ("text", "translation"),
    ("original", "translation"),
    ("source", "translation"),
    ("image", "caption"),
    ("file", "caption"),
    ("filename", "caption"),
)
OTHER_WORDS = "id idx index no nr number line key name score domain corpus note comment context"
CODE_WORDS = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de "
    "dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id "
    "ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu "
    "lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu "
    "rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr "
    "ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu ara ben bul cat ces cmn dan deu ell eng est "
    "eus fas fin fra glg heb hin hrv hun hye ind isl ita jpn kat kaz khm kor lat lav lit mkd mlt mon msa "
    "mya nep nld nob nor pol por ron rus sin slk slv spa sqi srp swa swe tam tel tgl tha tur ukr urd uzb "
    "vie yue zho"
)
LANGUAGE_WORDS = (
    "arabic=ar bengali=bn bulgarian=bg catalan=ca chinese=zh croatian=hr czech=cs danish=da dutch=nl "
    "english=en estonian=et finnish=fi french=fr german=de greek=el hebrew=he hindi=hi hungarian=hu "
    "icelandic=is indonesian=id irish=ga italian=it japanese=ja korean=ko latin=la latvian=lv "
    "lithuanian=lt malay=ms norwegian=no persian=fa polish=pl portuguese=pt romanian=ro russian=ru "
    "serbian=sr slovak=sk slovenian=sl spanish=es swahili=sw swedish=sv tamil=ta telugu=te thai=th "
    "turkish=tr ukrainian=uk urdu=ur vietnamese=vi welsh=cy deutsch=de français=fr español=es 한국어=ko "
    "日本語=ja 中文=zh русский=ru"
)
OTHER_NAMES = frozenset(OTHER_WORDS.split())
"""Columns that stand beside texts; `id` and `no` are languages, too."""
CODES = frozenset(CODE_WORDS.split())
LANGUAGES = dict(pair.split("=") for pair in LANGUAGE_WORDS.split())
ROLE_WORDS = frozenset(word for role in ROLES for word in role)
WORDS = re.compile(r"[^\W_]+")
TAG = re.compile(r"([a-z]{2,3})((?:[-_][a-z0-9]{2,8})*)")
NAME = re.compile(r"[^\W\d][\w .-]{0,39}")
LOOKED_AT = 50  # lines below a header
TIMES_LONGER = 3  # than the names of languages are the texts below them


def language_of(name: str) -> str:
    """The language that a column's name tells, as a code: `en` of `en`, `en-US`, `English` and `text_en`."""
    plain = name.strip().lower()
    if plain in LANGUAGES:
        return LANGUAGES[plain]
    if (tag := TAG.fullmatch(plain)) and tag[1] in CODES:
        return tag[1]
    words = [LANGUAGES.get(word, word) for word in re.split(r"[\W_]+", plain)]
    found = {word for word in words if word in CODES and word not in OTHER_NAMES}
    return found.pop() if len(found) == 1 and len(words) == 2 else ""


def usual_sides(names: Sequence[str]) -> tuple[str, ...]:
    """The names that hold source and target by what they mean; () if they do not tell."""
    plain = {name.strip().lower(): name for name in names}
    for source, target in ROLES:
        if source in plain and target in plain:
            return plain[source], plain[target]
    spoken = [name for name in names if language_of(name)]
    if len(spoken) > 2:
        spoken = [name for name in spoken if name.strip().lower() not in OTHER_NAMES]
    return tuple(spoken) if len(spoken) == 2 else ()


def is_header(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first line of a TSV names its columns, rather than being a pair, by the lines below it."""
    sides = usual_sides(cells)
    plain = [cell.strip().lower() for cell in cells]
    if not sides or not below or len(set(plain)) < len(plain) or not all(map(NAME.fullmatch, plain)):
        return False
    if all(ROLE_WORDS & set(WORDS.findall(side.lower())) for side in sides):  # source, or source_de
        return True
    longest = max(map(len, sides))  # a dictionary of short words may begin with what looks like two languages
    usual = median(len(cell) for row in below[:LOOKED_AT] for cell in row)
    return usual >= TIMES_LONGER * min(longest, 4)
