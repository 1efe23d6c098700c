"""Words that a dot belongs to, by language: what a splitter of sentences has to know and cannot compute.

Written without their dots and in lower case; `z.b` stands for `z.B.` and `z. B.` alike.
"""

from functools import cache

_NEVER = {
    "": "mr mrs ms messrs mme mlle dr prof st vs e.g i.e cf al no nr vol fig figs eq approx ca p pp ed "
    "eds gen col lt sgt capt cmdr maj rev hon gov sen rep pres dept ext kl klo",
    "en": "mt ft ave blvd rd op art sec ch viz adj bros est mfg",
    "de": "z.b d.h u.a u.u i.d.r i.a o.ä s.o s.u z.t u.s.w m.e v.a z.zt bzw evtl ggf ggfs vgl sog insb "
    "inkl exkl zzgl abzgl abs art bd bsp bspw dipl ing hr hrn fr frl geb gest hl jh jhd kap lfd max "
    "min mind mdl nachm vorm ntfl o.g od orig pos qm rd sen str südl nördl tel tsd urspr usf verh wg "
    "zw s",
    "fr": "m mm mlles mgr me p.ex c.-à-d av apr env art chap coll éd fasc fig hab ibid inf sup int réf rép "
    "tél tome vol bd boul fg pl",
    "sv": "bl.a t.ex d.v.s dvs s.k m.m f.d fr.o.m t.o.m kl kap nr s sid t.v t.h resp tel ung ä osv",
    "da": "kl bl.a f.eks d.v.s dvs ca nr s t.h t.v inkl ekskl hhv jf mht pga vedr tlf",
    "nb": "kl bl.a f.eks d.v.s dvs ca nr s inkl ekskl hhv jf ifm mht pga vedr tlf st",
    "nl": "bijv bijv.d d.w.z o.a m.a.w a.u.b i.p.v t.a.v dhr mevr mw drs ir ing blz nr resp incl excl max "
    "min evt jl ca art",
    "es": "sr sra srta sres d dña ud uds vd vds p.ej pág págs núm art av avda c cap ee.uu fig tel ing lic "
    "arq",
    "it": "sig sigg sig.ra sig.na dott dott.ssa ing avv arch on p.es es pag pagg art cap ecc.ma fig tel n s",
    "pt": "sr sra srs sras srta dr dra prof profa p.ex pág págs núm art av cap ex exmo fig tel eng d",
    "pl": "np tzw tj tzn m.in ul al pl os św dr prof mgr inż hab im płk gen por ppłk godz nr s str r tel "
    "wg ws zob",
    "cs": "např tzv tj mj atp ing mgr bc mudr judr rndr phdr doc ul č čís str tel sv p pí",
    "fi": "esim ns mm ts ks vrt so klo nro s puh tri prof t.s",
    "ru": "т.е т.к т.н т.д т.п г гг ул им проф акад д-р см ср стр рис табл гл обл р руб коп тыс млн млрд "
    "напр др доц пр",
    "uk": "т.зв т.п див напр вул ім проф акад стор рис табл гл обл р руб тис млн млрд",
    "tr": "dr prof doç yrd sn vb vs bkz örn sok cad mah no s yy",
    "hu": "pl dr ún ill kb stb id ifj özv sz",
    "ar": "د أ م ص ت هـ",
    "el": "π.χ δηλ κ κα κος δρ βλ σελ αρ",
}
"""No sentence ends with these."""

_MAYBE = {
    "": "etc inc ltd co corp jr sr a.m p.m am pm u.s u.k u.s.a u.n e.u b.c a.d d.c ph.d m.d b.a m.a cm "
    "mm km kg lb oz hr hrs min sec jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu "
    "fri sat sun esq",
    "de": "usw u.s.w etc std min sek mio mrd jan feb mär apr jun jul aug sept okt nov dez mo di mi do fr "
    "sa so z gmbh n.chr v.chr u.a",
    "fr": "etc cie ltée ste janv févr avr juil sept oct nov déc av.j.-c apr.j.-c",
    "es": "etc cía ltda a.c d.c ee.uu",
    "it": "ecc a.c d.c",
    "pt": "etc cia ltda a.c d.c",
    "sv": "osv m.m mfl m.fl etc",
    "da": "osv m.m mv etc",
    "nb": "osv m.m mv etc",
    "nl": "enz e.d etc",
    "pl": "itd itp",
    "cs": "atd",
    "fi": "jne yms",
    "ru": "т.д т.п др г гг",
    "tr": "vb vs",
    "hu": "stb",
}
"""A sentence may end with these: the word that follows decides."""

_STARTERS = {
    "en": "the a an he she it they we you i this that these those there here his her its their our your my "
    "if when while but and so or however then in on at as what who why how where do does did is are "
    "was were can please no yes not now one",
    "de": "der die das ein eine er sie es wir ihr ich du dies diese dieser dieses dort hier sein mein dein "
    "unser wenn aber und doch dann da so was wer wie wo warum im am in an auf bitte nein ja nicht "
    "jetzt man alle wähle klicken geben öffnen",
    "fr": "le la les l' un une il elle on nous vous je j' tu ils elles ce c' cette ces si mais et puis "
    "alors quand que qui où comment pourquoi dans en à au sur son sa ses mon ma non oui pour",
    "es": "el la los las un una él ella ellos yo tú usted si pero y cuando qué quién cómo dónde en no sí "
    "este esta",
    "it": "il lo la i gli le un una lui lei noi voi io tu loro se ma e quando che chi come dove in no sì "
    "questo",
    "pt": "o a os as um uma ele ela eles eu você se mas e quando que quem como onde em não sim este esta",
    "nl": "de het een hij zij ze wij we ik jij je u dit dat deze die als maar en toen dan wat wie hoe waar "
    "in op nee ja",
    "sv": "den det en ett han hon de vi jag du ni detta denna om men och då så vad vem hur var i på nej ja",
    "da": "den det en et han hun de vi jeg du i dette denne hvis men og da så hvad hvem hvordan hvor på "
    "nej ja",
    "nb": "den det en et han hun de vi jeg du dere dette denne hvis men og da så hva hvem hvordan hvor i "
    "på nei ja",
    "ru": "он она оно они мы вы я ты это эта этот если но и а когда что кто как где в на нет да",
    "uk": "він вона воно вони ми ви я ти це ця цей якщо але і а коли що хто як де в на ні так",
    "pl": "on ona ono oni my wy ja ty to ten ta jeśli ale i a kiedy co kto jak gdzie w na nie tak",
    "cs": "on ona ono oni my vy já ty to ten ta jestli ale a když co kdo jak kde v na ne ano",
    "fi": "hän se he me te minä sinä tämä jos mutta ja kun mitä kuka miten missä ei",
    "hu": "ő az ez mi ti én te ha de és amikor mit ki hogyan hol nem igen",
    "tr": "o bu şu biz siz ben sen eğer ama ve ne kim nasıl nerede hayır evet",
}
"""Words that begin sentences more often than they are names."""

ORDINALS = frozenset(
    {"de", "da", "nb", "nn", "no", "fi", "cs", "sk", "sl", "hr", "sr", "hu", "et", "lv", "pl", "tr", "mul"}
)
"""Languages that write a dot after a number for 'the fifth'."""


LAST = frozenset(["etc", "usw", "osv", "enz", "itd", "itp", "atd", "ecc", "jne", "stb", "a.m", "p.m"])
"""Abbreviations that no name follows: with a capital letter behind them a sentence has ended."""


@cache
def never(language: str) -> frozenset[str]:
    """Abbreviations that no sentence of a language ends with; English titles stand in every language."""
    return frozenset((_NEVER[""] + " " + _NEVER.get(language, "")).split())


@cache
def maybe(language: str) -> frozenset[str]:
    """Abbreviations that a sentence may end with."""
    own = frozenset((_MAYBE[""] + " " + _MAYBE.get(language, "")).split())
    return own - (never(language) - frozenset(_MAYBE.get(language, "").split()))


@cache
def starters(language: str) -> frozenset[str]:
    """Words that begin a sentence; without a language those of English."""
    return frozenset(_STARTERS.get(language, _STARTERS["en"]).split())
