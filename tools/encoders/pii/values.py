"""Names, addresses and numbers that fill the templates, from Faker's locales and names.txt. Everything is drawn by one seeded random.Random."""

import datetime
import random
import re
import unicodedata
from pathlib import Path

from faker import Faker

HERE = Path(__file__).parent
LOCALES = (
    "en_US en_US en_GB en_GB en_CA en_AU en_NZ en_IE en_IN en_PK en_NG en_PH en_KE de_DE de_AT de_CH fr_FR fr_CA fr_CH fr_BE it_IT es_ES es_MX es_AR es_CO es_CL pt_BR pt_PT nl_NL "
    "nl_BE pl_PL cs_CZ sk_SK hu_HU ro_RO hr_HR sl_SI sv_SE no_NO da_DK fi_FI et_EE lv_LV lt_LT tr_TR vi_VN id_ID fil_PH yo_NG ha_NG ig_NG zu_ZA sw rw_KE tw_GH az_AZ sq_AL is_IS ga_IE"
).split()
POOL = 400  # names of each kind that a locale gives; asked of Faker once, as it is slow
MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
TOOLS = (
    "Excel Word Outlook Teams Slack Zoom Jira Confluence Trello Asana GitHub GitLab Docker Kubernetes Terraform Postgres Redis Kafka Oracle Photoshop Firefox Chrome Safari Edge Windows "
    "Linux Ubuntu Android iOS Python Java Kotlin Swift Perl Scala Pascal Elm Haskell Go Spotify Netflix WhatsApp Telegram YouTube Kindle PayPal Stripe Shopify Salesforce Notion Figma "
    "Cortana Bixby Copilot Sentry Ansible Puppet Chef Maven Gradle Eclipse Blender Unity Steam Minecraft Tetris Fortnite Monopoly Scrabble Bluetooth Wi-Fi USB PDF CSV SQL HTML"
).split()
PRODUCTS = (
    "kettle|lamp|desk|toaster|washing machine|laptop|printer|tablet|headset|drill|backpack|jacket|pair of shoes|sofa|bike|tent|camera|phone case|Galaxy S21|ThinkPad T14|iPhone 13|iPad|MacBook "
    "Air|Kindle|Roomba|Dell XPS 13|PlayStation|Xbox|Nintendo Switch|Fitbit|GoPro|Nespresso machine|Thermomix|LG TV|Sony headphones|Samsung fridge|Bosch drill|Ikea shelf|Lego set|Barbie|Toyota "
    "Yaris|Golf GTI|Fiat 500|Tesla Model 3|Nikon D750|Canon printer|Epson scanner|Garmin watch|Adidas shoes|Nike shirt"
).split("|")
THINGS = "table chair sofa lamp shelf mug dress shirt jacket boots bag scarf mattress rug curtain bed mirror knife pan kettle tent bike helmet watch necklace perfume cake salad sandwich pizza tea".split()
PAPERS = "theorem effect equation principle prize report review novel cup syndrome disease test scale constant paradox algorithm".split()
NATIONALITIES = (
    "English German French Spanish Italian Dutch Polish Czech Swedish Danish Norwegian Finnish Greek Turkish Russian Ukrainian Chinese Japanese Korean Indian Brazilian Mexican Canadian "
    "American British Irish Scottish Australian African Arabic Hindi Persian Vietnamese Thai European Asian Portuguese Hungarian Romanian"
).split()
TITLES = "Mr. Mr Mrs. Mrs Ms. Ms Miss Dr. Dr Prof. Professor Sir Lady Herr Frau Madame Señor Captain Judge Sister Brother Father Aunt Uncle Coach Officer Nurse".split()
JOBS = "engineer;nurse;sales manager;teacher;Head of Sales;Customer Support;CEO;project lead;accountant;intern;Managing Director;driver;Human Resources;solicitor;Marketing;office manager".split(";")
TAILS = "Ltd|GmbH|Inc.|Inc|LLC|Group|AG|S.A.|AB|B.V.|Bank|Media|Foods|Systems|Logistics|Energy|Labs|Consulting|Insurance|Airlines|Motors|& Sons|& Co|Partners|Studios|Technologies|Pharma|Software|Solutions"
KNOWN_ORGS = (
    "Google|Microsoft|Apple|Amazon|Facebook|Siemens|Bosch|BMW|Toyota|Nestle|Shell|IBM|Intel|Samsung|Sony|Nokia|Ericsson|Volvo|IKEA|H&M|Zara|Lufthansa|Ryanair|KLM|Emirates|DHL|FedEx|UPS|Barclays|"
    "HSBC|Deutsche Bank|ING|Allianz|AXA|Vodafone|Telefonica|Verizon|AT&T|Walmart|Tesco|Aldi|Carrefour|NHS|BBC|CNN|NASA|UNICEF|Red Cross|United Nations|European Union|FBI|WHO|Greenpeace|Real Madrid|"
    "Bayern Munich|Liverpool FC|Chicago Bulls|Lakers|Harvard|MIT|Uber|Airbnb|eBay|Twitter|Reuters|New York Times|Pfizer|Bayer|Novartis|Unilever|Heineken|Starbucks|McDonald's|KPMG|Deloitte|Accenture"
)
OF = "University of {}|{} University|{} Hospital|{} City Council|{} Airport|{} High School|{} FC|{} Chamber of Commerce|Museum of {}|{} Police|{} College|{} Public Library|St. Mary's {}|{} Football Club|Bank of {}"
KNOWN_PLACES = (
    "London|Paris|Berlin|Madrid|Rome|Vienna|Prague|Warsaw|Budapest|Athens|Lisbon|Dublin|Oslo|Stockholm|Copenhagen|Helsinki|Moscow|Kyiv|Istanbul|Cairo|Nairobi|Accra|Lagos|Johannesburg|Cape Town|"
    "Delhi|Mumbai|Bangalore|Karachi|Dhaka|Beijing|Shanghai|Tokyo|Osaka|Seoul|Hanoi|Bangkok|Jakarta|Manila|Singapore|Hong Kong|Sydney|Melbourne|Auckland|Toronto|Vancouver|New York|NYC|Boston|Chicago|"
    "Houston|Texas|California|LA|Los Angeles|San Francisco|Seattle|Miami|Florida|Atlanta|Denver|Las Vegas|Mexico City|Havana|Bogota|Lima|Santiago|Buenos Aires|Rio de Janeiro|Sao Paulo|Brazil|"
    "Argentina|Chile|Peru|Germany|France|Spain|Italy|Portugal|Poland|Sweden|Norway|Denmark|Finland|Iceland|Ireland|Scotland|Wales|England|UK|USA|U.S.|Canada|Mexico|China|Japan|Korea|India|Pakistan|"
    "Nepal|Iran|Iraq|Israel|Egypt|Morocco|Kenya|Nigeria|Ghana|Ethiopia|South Africa|Australia|New Zealand|Russia|Ukraine|Turkey|Greece|Croatia|Hungary|Romania|Bavaria|Tuscany|Provence|the Alps|"
    "Lake Como|the Black Forest|Mount Fuji|Brooklyn|Manhattan|Soho|Camden|Europe|Africa|Asia|Syria|Afghanistan|Dubai|Doha|Amsterdam|Rotterdam|Brussels|Zurich|Geneva|Munich|Hamburg|Cologne|Frankfurt|"
    "Manchester|Liverpool|Leeds|Bristol|Glasgow|Edinburgh|Cardiff|Belfast|Cork|Milan|Naples|Turin|Venice|Barcelona|Seville|Valencia|Porto|Krakow|Lyon|Marseille|Nice|Bordeaux|Crimea|Gaza|Kashmir"
).split("|")
LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


def is_latin(text):
    return all(not c.isalpha() or "LATIN" in unicodedata.name(c, "") for c in text)


def pools():
    """[(first names, last names, places, addresses)] a locale, in Latin letters only."""
    out = []
    for number, name in enumerate(LOCALES):
        try:
            fake = Faker(name)
        except AttributeError:
            print(f"Faker has no locale {name}")
            continue
        fake.seed_instance(number)
        ask = lambda what: list(dict.fromkeys(x for x in (getattr(fake, what)() for _ in range(POOL)) if is_latin(x)))
        first, last = ask("first_name"), ask("last_name")
        clean = lambda names: [n for n in names if len(n) > 1 and "." not in n]
        own = name in ("en_PK", "en_NG", "en_KE", "sw", "rw_KE", "tw_GH", "yo_NG", "ha_NG", "ig_NG", "zu_ZA")  # addresses of these are Faker's American ones
        out.append((clean(first), clean(last), [] if own else ask("city"), [] if own else [re.sub(r"\s*\n\s*", "\n", a) for a in ask("address")]))
    for line in (HERE / "names.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            first, last = (part.split() for part in line.split("|"))
            out.append((first, last, [], []))
    return [p for p in out if p[0] and p[1]]


class Values:
    """One method a place of the templates. An entity is (label, text), a plain word (None, text)."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.pools = pools()
        self.placed = [p for p in self.pools if p[2]]

    def make(self, place):
        return getattr(self, place)()

    def pick(self, options):
        return self.rng.choice(options)

    def digits(self, count):
        return "".join(self.pick("0123456789") for _ in range(count))

    def pattern(self, form):
        """# a digit, ? a capital letter."""
        return "".join(self.pick("0123456789") if c == "#" else self.pick(LETTERS) if c == "?" else c for c in form)

    # people
    def names(self):
        first, last, *_ = self.pick(self.pools)
        if self.rng.random() < 0.1:  # of two origins
            last = self.pick(self.pools)[1]
        one = [self.pick(first), self.pick(last)]
        for i in (0, 1):  # nobody's name: halves of two
            if self.rng.random() < 0.12:
                a, b = self.pick(self.pick(self.pools)[i]), self.pick(self.pick(self.pools)[i])
                one[i] = (a[: len(a) // 2 + 1] + b[len(b) // 2 :].lower()).replace(" ", "")
        if self.rng.random() < 0.04:
            one[1] += f"-{self.pick(self.pick(self.pools)[1])}"
        return one

    def first(self):
        return "PER", self.names()[0]

    def last(self):
        return "PER", self.names()[1]

    def full(self):
        first, last = self.names()
        if self.rng.random() < 0.06:
            first += f" {self.pick(LETTERS)}."
        elif self.rng.random() < 0.06:
            first += f" {self.names()[0]}"
        return "PER", f"{first} {last}" if self.rng.random() > 0.04 else f"{first[0]}. {last}"

    def per(self):
        kind = self.rng.random()
        return self.full() if kind < 0.5 else self.first() if kind < 0.9 else self.last()

    # places and organisations
    def loc(self):
        return "LOC", self.pick(KNOWN_PLACES) if self.rng.random() < 0.5 else self.pick(self.pick(self.placed)[2])

    def org(self):
        kind = self.rng.random()
        if kind < 0.25:
            return "ORG", self.pick(KNOWN_ORGS.split("|"))
        if kind < 0.45:
            return "ORG", self.pick(OF.split("|")).format(self.loc()[1].removeprefix("the "))
        stem = self.names()[1] if kind < 0.75 else self.pick("Nord Blue Alpha Green Star Sun Inter Omni Terra Aqua Nova Prime Data Medi Euro Pan Red Cloud Silver Bright Open Fast".split())
        if kind >= 0.75:
            stem += self.pick(["", " ", ""]) + self.pick("line tech wave point works path gate field stone bridge soft net house craft mark trans".split())
        if kind >= 0.75 and " " in stem:
            stem = stem.title()
        return "ORG", f"{stem} {self.pick(TAILS.split('|'))}" if self.rng.random() < 0.75 else stem if kind >= 0.75 else f"{stem} & {self.names()[1]}"

    def addr(self):
        address = self.pick(self.pick(self.placed)[3])
        kind = self.rng.random()
        if kind < 0.6:
            return "ADDRESS", address.replace("\n", ", ")
        if kind < 0.7:
            return "ADDRESS", address
        line = address.split("\n")[0].split(",")[0]
        return "ADDRESS", line if any(c.isdigit() for c in line) else f"{line} {self.rng.randint(1, 200)}"

    # accounts and numbers
    def plain_name(self):
        text = unicodedata.normalize("NFKD", self.pick(self.names())).encode("ascii", "ignore").decode().lower()
        return re.sub("[^a-z]", "", text) or "kim"

    def user(self):
        a, b = self.plain_name(), self.plain_name()
        word = self.pick("dark moon cat fire star wolf pixel lazy happy ghost tea sun ninja tiger coffee river night retro cosmic tiny lucky silent rocket panda iron gamer music foto".split())
        other = self.pick("fox king girl boy lover hunter rider dreamer maker queen runner panda bear wizard dev art player bird dude fan master".split())
        year = self.pick([self.digits(1), self.digits(2), self.digits(2), self.digits(4), str(self.rng.randint(1960, 2012))])
        forms = [f"{a[0]}{b}", f"{a}.{b}", f"{a}_{b}", f"{a}{year}", f"{a}_{year}", f"{b}{a[0]}", f"{a[0]}.{b}", f"{word}{other}", f"{word}_{other}{year}", f"{word.title()}{other.title()}", f"x{word}{other}x", f"{a}-{b}", f"{word}.by.{a}", f"{a}{word}", f"{word.title()}{other.title()}_{year}", f"the_real_{a}", f"{a}#{self.digits(4)}"]  # fmt: skip
        name = self.pick(forms)
        return "USERNAME", f"@{name}" if self.rng.random() < 0.15 else name

    def handle(self):
        return "USERNAME", "@" + self.user()[1].removeprefix("@").split("#")[0]

    def email(self):
        a, b = self.plain_name(), self.plain_name()
        host = self.pick("gmail.com yahoo.com outlook.com web.de mail.example example.org company.example proton.me icloud.com firma.example hotmail.co.uk".split())
        return "EMAIL", self.pick([f"{a}.{b}", f"{a}{self.digits(2)}", f"{a[0]}{b}", f"{a}_{b}", f"info.{b}"]) + "@" + host

    def phone(self):
        forms = "+44 20 #### ####|+49 ### #######|+1 ###-###-####|(###) ###-####|###-###-####|0#### ######|0## #### ####|+33 # ## ## ## ##|0# ## ## ## ##|+## ## ### ## ##|### ### ###|0###-#######|+91 ##### #####|0## ### ## ##|555-####|00## ### #######"
        return "PHONE", self.pattern(self.pick(forms.split("|")))

    def id(self):
        forms = "########|##-#####|###-##-####|?######|??######|#####|?-#####|???-####-##|## ## ## ##|#########?|?##?#?###|??## ???|?-?? ####|??-?? ###|### ### ####|##########|?????######?#####|??## #### #### #### ####|??## #### #### #### #### ##|#### #### #### ####|##/###/#####|#######-?|MC-####|K######|CUST-######|######|####-####|## ### ###|?##/######|ID########"
        return "ID", self.pattern(self.pick(forms.split("|")))

    def order(self):
        forms = "######|#######|#-######|PO-####|INV-####-###|RMA#####|##########|SO######|TT-####|#### ####|JD############|SN??####|??-####|#####|R-###/##"
        return None, self.pick(["#", "", "", "no. "]) + self.pattern(self.pick(forms.split("|")))

    # dates and other plain words
    def day(self, first, last):
        return datetime.date(first, 1, 1) + datetime.timedelta(days=self.rng.randrange(365 * (last - first + 1)))

    def written(self, d):
        ordinal = "th" if 10 <= d.day <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(d.day % 10, "th")
        month = MONTHS[d.month - 1]
        return self.pick([f"{d.day} {month} {d.year}", f"{month} {d.day}, {d.year}", f"{d:%d/%m/%Y}", f"{d:%d.%m.%Y}", f"{d:%Y-%m-%d}", f"{d.day}{ordinal} {month} {d.year}", f"{d:%m/%d/%Y}", f"{d.day} {month[:3]} {d.year}", f"{d.day}.{d.month}.{d.year % 100:02d}", f"{d:%d-%m-%Y}", f"{d.day}{ordinal} of {month} {d.year}", f"{d:%d/%m/%y}"])  # fmt: skip

    def birth(self):
        return "BIRTH_DATE", self.written(self.day(1930, 2018))

    def date(self):
        d = self.day(2018, 2026)
        return None, self.written(d) if self.rng.random() < 0.5 else self.daymonth()[1]

    def daymonth(self):
        d = self.day(2018, 2026)
        month = MONTHS[d.month - 1]
        return None, self.pick([f"{d.day} {month}", f"{month} {d.day}", f"the {d.day}th", f"{d.day}.{d.month}.", f"{d.day} {month[:3]}"])

    def stamp(self):
        d = self.day(2018, 2026)
        clock = f"{self.rng.randint(0, 23):02d}:{self.rng.randint(0, 59):02d}:{self.rng.randint(0, 59):02d}"
        return None, self.pick([f"{d} {clock}", f"[{d}T{clock}Z]", f"{MONTHS[d.month - 1][:3]} {d.day} {clock} srv{self.rng.randint(1, 9)}", clock])

    def title(self):
        return None, self.pick(TITLES)

    def jobtitle(self):
        return None, self.pick(JOBS)

    def weekday(self):
        return None, self.pick(WEEKDAYS)

    def month(self):
        return None, self.pick(MONTHS)

    def year(self):
        return None, str(self.rng.randint(1950, 2026))

    def time(self):
        return None, self.pick([f"{self.rng.randint(1, 12)} {self.pick(['am', 'pm'])}", f"{self.rng.randint(0, 23)}:{self.pick(['00', '15', '30', '45'])}"])

    def num(self):
        return None, str(self.rng.randint(1, 12) if self.rng.random() < 0.5 else self.rng.randint(1, 500))

    def version(self):
        return None, ".".join(str(self.rng.randint(0, 20)) for _ in range(self.rng.randint(2, 3)))

    def money(self):
        n = self.rng.randint(1, 3000)
        return None, self.pick([f"{n} euros", f"${n}", f"£{n}", f"{n},50 EUR", f"{n} bucks", f"{n}"])

    def ip(self):
        return None, ".".join(str(self.rng.randint(1, 254)) for _ in range(4))

    def tool(self):
        return None, self.pick(TOOLS)

    def product(self):
        return None, self.pick(PRODUCTS)

    def thing(self):
        return None, self.pick(THINGS)

    def paper(self):
        return None, self.pick(PAPERS)

    def nationality(self):
        return None, self.pick(NATIONALITIES)

    def placeword(self):
        """The name of a person or place in a product's."""
        return None, self.pick(KNOWN_PLACES) if self.rng.random() < 0.5 else self.pick(self.names())
