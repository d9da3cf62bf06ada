"""Words that are labels in many tables: months, days of the week, scales, yes and no, answers that are none."""

from __future__ import annotations

# Names of months and of days, Monday first, in languages of which labels are likely; _ stands for a space.
MONTHS = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "jänner feber maerz april mai juni juli august september oktober november dezember",
    "jan feb mrz apr mai jun jul aug sep okt nov dez",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień",
    "januari februari mars april maj juni juli augusti september oktober november december",
    "januar februar marts april maj juni juli august september oktober november december",
    "januar februar mars april mai juni juli august september oktober november desember",
    "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu",
    "leden únor březen duben květen červen červenec srpen září říjen listopad prosinec",
    "január február marec apríl máj jún júl august september október november december",
    "január február március április május június július augusztus szeptember október november december",
    "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie",
    "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
    "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
    "січень лютий березень квітень травень червень липень серпень вересень жовтень листопад грудень",
    "ιανουάριος φεβρουάριος μάρτιος απρίλιος μάιος ιούνιος ιούλιος αύγουστος σεπτέμβριος οκτώβριος νοέμβριος"
    " δεκέμβριος",
    "1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",
)
WEEKDAYS = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "mo tu we th fr sa su",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "montag dienstag mittwoch donnerstag freitag sonnabend sonntag",
    "mo di mi do fr sa so",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lu ma me je ve sa di",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lu ma mi ju vi sa do",
    "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "lu ma me gi ve sa do",
    "segunda_feira terça_feira quarta_feira quinta_feira sexta_feira sábado domingo",
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    "ma di wo do vr za zo",
    "poniedziałek wtorek środa czwartek piątek sobota niedziela",
    "pn wt śr czw pt sob nd",
    "måndag tisdag onsdag torsdag fredag lördag söndag",
    "mandag tirsdag onsdag torsdag fredag lørdag søndag",
    "maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai",
    "pondělí úterý středa čtvrtek pátek sobota neděle",
    "pondelok utorok streda štvrtok piatok sobota nedeľa",
    "hétfő kedd szerda csütörtök péntek szombat vasárnap",
    "luni marți miercuri joi vineri sâmbătă duminică",
    "pazartesi salı çarşamba perşembe cuma cumartesi pazar",
    "понедельник вторник среда четверг пятница суббота воскресенье",
    "пн вт ср чт пт сб вс",
    "понеділок вівторок середа четвер п'ятниця субота неділя",
    "δευτέρα τρίτη τετάρτη πέμπτη παρασκευή σάββατο κυριακή",
    "星期一 星期二 星期三 星期四 星期五 星期六 星期日",
    "周一 周二 周三 周四 周五 周六 周日",
    "月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日",
    "月 火 水 木 金 土 日",
)
# Rungs of scales, lowest first; a rung may have several names.
SCALES = (
    "never/almost never | rarely/seldom/hardly ever | occasionally | sometimes | often/frequently/regularly"
    " | usually/most of the time/very often | nearly always/almost always | always",
    "never/not at all | less than once a year | once a year/yearly/annually | several times a year/a few times a year"
    " | less than once a month/less than monthly | once a month/monthly | several times a month/a few times a month"
    " | once a week/weekly | several times a week/a few times a week | most days/almost every day/nearly every day"
    " | daily/every day/once a day | several times a day/many times a day",
    "strongly disagree/completely disagree/totally disagree | disagree/mostly disagree"
    " | somewhat disagree/slightly disagree/rather disagree"
    " | neutral/neither/neither agree nor disagree/undecided | somewhat agree/slightly agree/rather agree"
    " | agree/mostly agree | strongly agree/completely agree/totally agree",
    "very dissatisfied | dissatisfied/rather dissatisfied | somewhat dissatisfied | neutral/neither"
    "/neither satisfied nor dissatisfied | somewhat satisfied | satisfied/rather satisfied | very satisfied",
    "very bad | very poor | bad | poor | fair/moderate/so so/acceptable | average/ok | good | very good | excellent",
    "none/no/absent | minimal | slight | mild | moderate | severe/serious | very severe/extreme",
    "very low | low | rather low | medium/moderate/middle/mid/normal/average | rather high | high | very high",
    "not at all | a little/slightly/hardly | somewhat/moderately/a bit | quite a bit/rather/fairly/a lot"
    " | very/very much/extremely/a great deal",
    "not important/unimportant/not at all important | slightly important/not very important"
    " | somewhat important/moderately important | important/fairly important/quite important | very important"
    " | extremely important",
    "very unlikely | unlikely | neutral | likely | very likely",
    "much worse | worse/somewhat worse | same/the same/about the same | better/somewhat better | much better",
    "tiny/extra small/x small | small | medium | large/big | huge/extra large/x large",
    "no education/no schooling/no formal education/none | preschool/kindergarten"
    " | primary/elementary/primary school/primary education"
    " | lower secondary/some high school/less than high school/no high school diploma/middle school"
    " | secondary/upper secondary/high school/high school graduate/high school diploma/secondary education"
    " | some college/some college no degree/vocational/post secondary"
    " | associate/associates/associate degree/associates degree"
    " | bachelor/bachelors/bachelor degree/bachelors degree/college graduate/college degree/undergraduate"
    " | master/masters/master degree/masters degree/graduate/graduate degree | professional/professional degree"
    " | doctorate/phd/doctoral/doctoral degree/doctor",
    "ohne abschluss/kein abschluss/kein schulabschluss/ohne schulabschluss | grundschule | hauptschule"
    "/hauptschulabschluss/volksschule | realschule/realschulabschluss/mittlere reife/mittlerer abschluss"
    " | fachhochschulreife/fachabitur | abitur/hochschulreife/allgemeine hochschulreife"
    " | hochschule/hochschulabschluss/studium/universität | promotion",
    "underweight | normal/normal weight/healthy weight | overweight | obese/obesity",
    "beginner/novice/basic | intermediate | advanced | expert",
    "negative | neutral | positive",
    "lower class | working class/lower middle class | middle class | upper middle class | upper class",
    "never smoked/never | former/ex smoker/former smoker | current/current smoker",
    "xxs | xs | s | m | l | xl | xxl | xxxl",
    "nie | fast nie | selten | gelegentlich | manchmal | oft/häufig | meistens/sehr oft | fast immer | immer",
    "stimme überhaupt nicht zu/stimme gar nicht zu | stimme eher nicht zu/stimme nicht zu | teils teils/weder noch"
    " | stimme eher zu | stimme zu | stimme voll zu/stimme voll und ganz zu",
    "lehne voll und ganz ab/lehne stark ab | lehne ab/lehne eher ab | teils teils/weder noch/neutral"
    " | stimme eher zu | stimme zu | stimme voll und ganz zu/stimme stark zu",
    "sehr schlecht | schlecht | weniger gut | mittel/mittelmäßig/teils teils/zufriedenstellend | gut | sehr gut"
    " | ausgezeichnet/hervorragend",
    "ungenügend | mangelhaft | ausreichend | befriedigend | gut | sehr gut",
    "sehr niedrig/sehr gering | niedrig/gering | mittel/durchschnittlich | hoch | sehr hoch",
    "trifft überhaupt nicht zu/trifft gar nicht zu | trifft eher nicht zu/trifft nicht zu/trifft kaum zu"
    " | teils teils/weder noch | trifft eher zu | trifft zu | trifft voll zu/trifft voll und ganz zu/trifft völlig zu",
    "sehr unzufrieden | unzufrieden/eher unzufrieden | teils teils/weder noch/neutral | zufrieden/eher zufrieden"
    " | sehr zufrieden",
    "gar nicht/überhaupt nicht | kaum | ein wenig/wenig/etwas | mäßig/mittelmäßig | ziemlich/stark | sehr/sehr stark",
    "keine/kein | leicht/leichte | mittel/mäßig/moderat/mittelschwer | schwer/schwere/stark/starke"
    " | sehr schwer/sehr stark/sehr starke",
    "völlig unwichtig/überhaupt nicht wichtig | unwichtig/eher unwichtig/weniger wichtig | teils teils"
    " | wichtig/eher wichtig | sehr wichtig",
    "sehr unwahrscheinlich | unwahrscheinlich/eher unwahrscheinlich | wahrscheinlich/eher wahrscheinlich"
    " | sehr wahrscheinlich",
    "viel schlechter | schlechter/etwas schlechter | gleich/unverändert/gleich geblieben | besser/etwas besser"
    " | viel besser",
    "sehr klein | klein | mittel/mittelgroß | groß | sehr groß",
    "untergewicht/untergewichtig | normalgewicht/normalgewichtig | übergewicht/übergewichtig | adipositas/adipös",
    "nieraucher/nie raucher/nie geraucht | exraucher/ex raucher/ehemaliger raucher | raucher/aktueller raucher",
    "nie | einmal im jahr/jährlich | mehrmals im jahr | einmal im monat/monatlich | mehrmals im monat"
    " | einmal pro woche/einmal in der woche/wöchentlich | mehrmals pro woche/mehrmals in der woche | täglich",
    "pas du tout d'accord | pas d'accord/plutôt pas d'accord | ni d'accord ni pas d'accord/neutre"
    " | d'accord/plutôt d'accord | tout à fait d'accord",
    "très mauvais/très mauvaise | mauvais/mauvaise | moyen/moyenne/passable | assez bon/assez bonne | bon/bonne"
    " | très bon/très bonne | excellent/excellente",
    "très insatisfait/très insatisfaite/pas du tout satisfait/pas du tout satisfaite | insatisfait/insatisfaite"
    "/plutôt insatisfait/plutôt insatisfaite/peu satisfait/peu satisfaite/pas satisfait/pas satisfaite"
    " | neutre/ni satisfait ni insatisfait | plutôt satisfait/plutôt satisfaite/assez satisfait/assez satisfaite"
    " | satisfait/satisfaite | très satisfait/très satisfaite/tout à fait satisfait/tout à fait satisfaite",
    "pas du tout important | pas important/peu important | plutôt important/assez important | important"
    " | très important",
    "pas du tout | un peu | assez/moyennement/modérément | beaucoup | énormément/extrêmement",
    "aucun/aucune | léger/légère | modéré/modérée | sévère/grave | très sévère/très grave",
    "très faible | faible | moyen/moyenne | élevé/élevée/fort/forte | très élevé/très élevée/très fort/très forte",
    "très petit/très petite | petit/petite | moyen/moyenne | grand/grande | très grand/très grande",
    "jamais | presque jamais | rarement | parfois/quelquefois/de temps en temps | souvent | très souvent"
    " | presque toujours | toujours",
    "aucun diplôme/sans diplôme | cep/certificat d'études | brevet/bepc/brevet des collèges | cap/bep/cap bep"
    " | bac/baccalauréat | bac+2/bac + 2/bts/dut/deug | bac+3/bac + 3/licence | bac+4/bac + 4/maîtrise"
    " | bac+5/bac + 5/master | doctorat/bac+8/bac + 8",
    "aucune scolarité | primaire/école primaire | collège | lycée | supérieur/université/études supérieures",
    "totalmente en desacuerdo/muy en desacuerdo | en desacuerdo/algo en desacuerdo"
    " | ni de acuerdo ni en desacuerdo/neutral/indiferente | de acuerdo/algo de acuerdo"
    " | totalmente de acuerdo/muy de acuerdo",
    "muy malo/muy mala | malo/mala | regular | bueno/buena | muy bueno/muy buena | excelente",
    "muy insatisfecho/muy insatisfecha/nada satisfecho/nada satisfecha | insatisfecho/insatisfecha/poco satisfecho"
    "/poco satisfecha | neutral/indiferente/ni satisfecho ni insatisfecho | bastante satisfecho/bastante satisfecha"
    " | satisfecho/satisfecha | muy satisfecho/muy satisfecha",
    "nada importante | poco importante | algo importante | bastante importante | importante | muy importante",
    "nada | poco | algo/regular | bastante | mucho | muchísimo",
    "ninguno/ninguna | leve | moderado/moderada | grave/severo/severa | muy grave",
    "muy bajo/muy baja | bajo/baja | medio/media | alto/alta | muy alto/muy alta",
    "muy pequeño/muy pequeña | pequeño/pequeña | mediano/mediana | grande | muy grande",
    "nunca | casi nunca | rara vez/raramente | a veces/algunas veces | a menudo/frecuentemente | casi siempre"
    " | siempre",
    "sin estudios/ninguno/ninguna | primaria/primarios/estudios primarios | secundaria/secundarios/estudios secundarios"
    "/eso | bachillerato/formación profesional/fp"
    " | universidad/universitaria/universitarios/estudios universitarios/superiores/estudios superiores"
    " | posgrado/máster/master | doctorado",
    "mai | quasi mai | raramente | a volte/qualche volta/talvolta | spesso | quasi sempre | sempre",
    "molto basso/molto bassa | basso/bassa | medio/media | alto/alta | molto alto/molto alta",
    "per niente | poco | abbastanza | molto | moltissimo",
    "pessimo/pessima/molto male | cattivo/cattiva/male | discreto/discreta/sufficiente | buono/buona/bene"
    " | molto buono/molto buona/molto bene | ottimo/ottima/eccellente",
    "per niente d'accordo/totalmente in disaccordo | poco d'accordo/in disaccordo | neutrale"
    "/né d'accordo né in disaccordo | abbastanza d'accordo/d'accordo"
    " | molto d'accordo/totalmente d'accordo/completamente d'accordo",
    "piccolo/piccola | medio/media | grande",
    "nunca | raramente | às vezes/por vezes | frequentemente/muitas vezes | sempre",
    "muito ruim/muito mau/muito má | ruim/mau/má | regular/razoável | bom/boa | muito bom/muito boa"
    " | excelente/ótimo/ótima",
    "discordo totalmente | discordo/discordo parcialmente | neutro/não concordo nem discordo"
    " | concordo/concordo parcialmente | concordo totalmente",
    "muito baixo/muito baixa | baixo/baixa | médio/média | alto/alta | muito alto/muito alta",
    "pequeno/pequena | médio/média | grande",
    "nooit | bijna nooit | zelden | soms | vaak | bijna altijd | altijd",
    "zeer slecht/heel slecht | slecht | matig/redelijk | goed | zeer goed/heel goed | uitstekend",
    "helemaal mee oneens/zeer mee oneens | mee oneens/oneens | neutraal/niet eens niet oneens | mee eens/eens"
    " | helemaal mee eens/zeer mee eens",
    "zeer laag | laag | gemiddeld/midden | hoog | zeer hoog",
    "frühling/frühjahr | sommer | herbst | winter",
    "printemps | été | automne | hiver",
    "primavera | verano | otoño | invierno",
    "primavera | estate | autunno | inverno",
    "first | second | third | fourth | fifth | sixth | seventh | eighth | ninth | tenth",
    "1st | 2nd | 3rd | 4th | 5th | 6th | 7th | 8th | 9th | 10th | 11th | 12th",
    "freshman | sophomore | junior | senior",
    "primary | lower secondary | secondary/upper secondary | post secondary | tertiary",
    "spring | summer | autumn/fall | winter",
)
PAIRS = (  # no, yes
    "no yes",
    "n y",
    "nein ja",
    "n j",
    "non oui",
    "n o",
    "no si",
    "no sí",
    "n s",
    "não sim",
    "nao sim",
    "nie tak",
    "nee ja",
    "nej ja",
    "nei ja",
    "ei kyllä",
    "ne ano",
    "nem igen",
    "hayır evet",
    "нет да",
    "否 是",
    "いいえ はい",
    "f t",
    "falsch wahr",
    "faux vrai",
    "falso verdadero",
    "falso vero",
)


# Answers that are none, in words: they have no place in an order; | stands between them.
NO_ANSWERS = (
    "don't know|dont know|do not know|dk|dk na|dk nr|no answer|not answered|no response|no opinion|don't remember"
    "|refused|refusal|declined|declined to answer"
    "|prefer not to say|prefer not to answer|rather not say|not applicable|not stated|not known|not available"
    "|not reported|not recorded|not ascertained|unknown|missing|unspecified|undetermined|inapplicable|can't say"
    "|can't choose"
    "|weiß nicht|weiss nicht|weiß ich nicht|keine angabe|keine angaben|keine antwort|ohne angabe|k a|w n|verweigert"
    "|antwort verweigert|unbekannt|entfällt|nicht zutreffend|nicht erhoben|nicht bekannt|möchte ich nicht sagen"
    "|ne sait pas|ne se prononce pas|nsp|sans opinion|sans objet|sans réponse|refus|non réponse|non renseigné"
    "|non concerné|inconnu|je ne sais pas|ne souhaite pas répondre"
    "|no sabe|no lo sé|no sé|no contesta|ns nc|ns|nc|no sabe no contesta|no responde|no aplica|no procede|sin respuesta"
    "|sin datos|desconocido|prefiero no responder|non so|non risponde|non sa|non applicabile|non dichiarato"
    "|não sabe|não sei|não respondeu|não se aplica|prefiro não responder"
    "|weet niet|weet ik niet|geen antwoord|geen opgave|n v t|niet van toepassing|onbekend"
    "|vet ej|vet inte|vet ikke|ved ikke|ei tietoa|en osaa sanoa|nevím|bez odpovědi|nem tudja|nie wiem|brak odpowiedzi"
    "|bilmiyorum|не знаю|нет ответа|затрудняюсь ответить"
)
