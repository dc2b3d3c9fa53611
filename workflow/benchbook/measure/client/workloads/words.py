"""Common short English words, and text of them, about one token each.

Every word is one token, with the space before it, in Mistral's Tekken and in the Llama 2 family's SentencePiece
vocabulary. A server's own count may still differ by its template and its first token: its usage counts.
"""

from __future__ import annotations

from benchbook.measure.client.workloads.draw import Draw

_WORDS = """
    able about above across act add after again age ago agree air all allow almost alone along already also always
    among amount animal answer any appear apple area arm army around arrive art ask attack author baby back bad bag
    ball band bank bar base bear beat beauty bed before begin behind believe below best better between beyond big
    bill bird bit black block blood blue board boat body bone book border born both bottom box boy branch bread
    break bridge bright bring broad brother brown build burn business busy buy call calm camp can captain car card
    care carry case cast catch cause cell center central certain chain chair chance change charge cheap check chief
    child choice choose church circle city claim class clean clear climb clock close cloth cloud coast cold color
    come common company compare complete cool copy corn corner cost count country couple course court cover cow
    create cross crowd cry culture cup current cut damage dance danger dark daughter day dead deal dear death decide
    deep degree demand depend describe desert design desk detail develop dinner direct doctor dog door double down
    draw dream dress drink drive drop dry dust duty each ear early earth east easy eat edge effect egg eight either
    electric else empty end enemy energy engine enjoy enough enter equal even evening event ever every example
    except expect experience explain express eye face fact fair fall family famous far farm fast father favor fear
    feed feel feet few field fight figure fill film final find fine finger finish fire first fish fit five flat
    floor flow flower fly follow food foot force foreign forest forget form forward four free fresh friend from
    front fruit full fun future game garden gas gate general gentle get gift girl give glad glass go goal gold good
    govern grand grass gray great green ground group grow guess guide hair half hall hand happen happy hard hat have
    head health hear heart heat heavy height help here high hill history hit hold hole home hope horse hot hotel
    hour house how human hundred ice idea image imagine important inch include increase industry inside interest
    iron island issue join journey joy judge jump just keep key kill kind king kitchen know labor lady lake land
    language large last late laugh law lay lead learn least leave left leg length less let letter level library lie
    life lift light like line lip list listen little live local long look lose loss lot love low luck lunch machine
    main major make man many map mark market mass master match matter may meal mean measure meat meet member memory
    method middle might mile milk million mind minute miss mix model modern moment money month moon more morning
    most mother motor mountain mouth move much music must name nation nature near neck need nerve never new news
    next nice night nine noise north nose note nothing notice number object ocean off offer office often oil old
    once one only open opinion order other outside over own page pain paint pair paper parent park part party pass
    past path pay peace pen people perhaps period person phone picture piece place plain plan plant play please
    point poor popular position possible post pound power practice prepare present press pretty price print private
    problem process produce promise proper protect prove provide public pull purpose push put quality question quick
    quiet quite race radio rain raise range rate rather reach read ready real reason receive record red reduce
    region regular remain remember repeat reply report rest result return rich ride right ring rise river road rock
    roll roof room root round row rule run safe sail salt same sand save say scale school science sea search season
    seat second secret see seed seem sell send sense serve set settle seven several shape share sharp she sheet
    shine ship shirt shoe shop shore short should shoulder show side sight sign silver similar simple since sing
    single sister sit six size skill skin sky sleep slow small smart smell smile smoke snow social soft soil soldier
    some son song soon sort sound south space speak special speech speed spend spirit spot spread spring square
    stage stand star start state station stay steel step stick still stone stop store storm story straight strange
    stream street strong student study subject success such sudden sugar suit summer sun supply support sure surface
    sweet swim system table tail take talk tall taste teach team tell ten term test than thank that then there thick
    thin thing think third this thought thousand three through throw time tiny tire today together tone too tool top
    total touch toward town track trade train travel tree trip trouble truck true trust try turn twelve twenty two
    type under union unit until up upon use usual valley value various very view village visit voice vote wait walk
    wall want war warm wash watch water wave way weak wear weather week weight welcome well west what wheel when
    where which while white whole whose why wide wife wild will win wind window wine winter wire wise wish with
    without woman wonder wood word work world worry worth would write wrong yard year yellow yes yet young zero
"""
WORDS = tuple(_WORDS.split())


def text(draw: Draw, count: int) -> str:
    """`count` words drawn independently, with spaces between."""
    n = len(WORDS)
    return " ".join([WORDS[int(draw() * n)] for _ in range(count)])
