import { createList, createPlural, createRub } from './numbers.ts'
import type { ProblemSentences } from './problems.ts'
import { type Alphabet, braced, type JsonFault, listed, type NamedThing, type ValueType } from './problems-en.ts'

const count = createPlural('ru')
const days = (number: number): string => count(number, { one: 'день', few: 'дня', other: 'дней' })
/** In the genitive, after `не меньше`, `до` and the like. */
const characters = (number: number): string => count(number, { one: 'символа', other: 'символов' })
const bytes = (number: number): string => count(number, { one: 'байта', other: 'байт' })
const items = (number: number): string => count(number, { one: 'элемента', other: 'элементов' })
const unknownFields = (number: number): string =>
  count(number, { one: 'неизвестное поле', few: 'неизвестных поля', other: 'неизвестных полей' })
const decimal = (number: number): string => String(number).replace('.', ',')
const rub = createRub('ru')
const upTo = (from: number, to: number): string => (from === 0 ? `до ${to}` : `${from}–${to}`)
const orOf = createList('ru', 'disjunction')
const andOf = createList('ru', 'conjunction')

const types: Readonly<Record<ValueType, string>> = {
  whole_number: 'целым числом',
  number: 'числом',
  string: 'строкой',
  boolean: 'true или false',
  list: 'списком',
  object: 'объектом',
}

const alphabets: Readonly<Record<Alphabet, string>> = {
  letters: 'латинских букв',
  small_letters: 'строчных латинских букв',
  digits: 'цифр',
  dots: 'точек',
  dashes: 'дефисов',
  underscores: 'подчёркиваний',
}

const things: Readonly<Record<NamedThing, string>> = {
  location: 'названием расположения',
  pool: 'названием пула',
  vpn_node: 'именем узла VPN',
  gateway: 'именем шлюза',
}

const jsonFaults: Readonly<Record<JsonFault, string>> = {
  after_end: 'после конца есть что-то ещё',
  too_deep: 'вложено глубже 16 уровней',
  key_expected: 'здесь нужен ключ в двойных кавычках',
  proto_key: 'ключ «__proto__» недопустим',
  duplicate_key: 'ключ указан дважды',
  colon_expected: 'здесь нужно «:»',
  comma_or_brace_expected: 'здесь нужно «,» или «}»',
  comma_or_bracket_expected: 'здесь нужно «,» или «]»',
  value_expected: 'здесь нужно значение',
  early_end: 'текст обрывается',
  string_open: 'строка не закрыта, или в ней есть символ, который нужно экранировать',
  string_nul: 'в строке есть NUL',
  string_surrogate: 'в строке половина суррогатной пары',
  number_long: 'в числе слишком много цифр',
  number_large: 'число слишком велико',
  number_unsafe: 'целое число больше 2^53',
  number_negative_zero: 'число -0 не принимается',
  number_inexact: 'в числе больше цифр, чем можно сохранить',
}

/** The Russian sentence of each problem of a field, and of each warning about one. It follows the name of the field. */
export const problemsRu: ProblemSentences = {
  required: 'обязательное поле',
  misspelt: (of) => `нужно указать; возможно, вместо него указано «${of.sent}»`,
  required_with: (of) => `нужно указать вместе с ${of.other}`,
  required_by: (of) => `нужно указать для ${of.provider}`,
  either: (of) => `нужно указать это или ${of.other}, но не оба`,
  one_field_of: (of) => `должно содержать ${orOf(of.fields)}, но не оба`,
  not_with: (of) => `не указывается вместе с ${orOf(of.others)}`,
  only_with: (of) => `указывается только вместе с ${of.other}`,
  same_as: (of) => `должно совпадать с ${of.other} или отсутствовать`,
  once: 'должно быть указано один раз',
  type: (of) => `должно быть ${types[of.expected]}`,
  wrong_type: 'имеет неверный тип',
  wrong_format: 'имеет неверный формат',
  no_allowed_form: 'не соответствует ни одной из допустимых форм',
  name_not_allowed: 'содержит недопустимое имя',
  unknown_fields: (of) => `содержит неизвестные поля: ${listed(of.names)}`,
  unknown_field: 'неизвестное поле',
  duplicates: 'не должно содержать повторов',
  invalid: 'неверное значение',

  one_of: (of) => `должно быть одним из: ${listed(of.allowed)}`,
  between: (of) => `должно быть от ${decimal(of.from)} до ${decimal(of.to)}`,
  whole_between: (of) => `должно быть целым числом от ${of.from} до ${of.to}`,
  in_steps: (of) => `должно быть от ${decimal(of.from)} до ${decimal(of.to)} с шагом ${decimal(of.step)}`,
  with_cents: (of) => `должно быть от ${rub(of.from)} до ${rub(of.to)}, не больше двух знаков после запятой`,
  two_decimals: 'должно иметь не больше двух знаков после запятой',
  at_least: (of) => `должно быть не меньше ${decimal(of.min)}`,
  future: 'должно быть в будущем',
  at_most: (of) => `должно быть не больше ${decimal(of.max)}`,
  more_than: (of) => `должно быть больше ${decimal(of.min)}`,
  less_than: (of) => `должно быть меньше ${decimal(of.max)}`,
  multiple_of: (of) => `должно быть кратно ${decimal(of.step)}`,
  plain_digits: 'должно быть целым числом, записанным цифрами',
  roubles: 'должно быть больше нуля, в рублях, не больше двух знаков после запятой',
  amount_by_method: (of) => `этим способом можно от ${rub(of.from_rub)} до ${rub(of.to_rub)} ₽`,
  amount_too_small: (of) => `должно быть не меньше ${rub(of.min_rub)} ₽, чтобы хватило на покупку`,

  min_characters: (of) => `должно быть не короче ${characters(of.min)}`,
  max_characters: (of) => `должно быть не длиннее ${characters(of.max)}`,
  min_items: (of) => `должно быть не меньше ${items(of.min)}`,
  max_json_bytes: (of) =>
    of.things === 1
      ? `должно быть не больше ${bytes(of.max)} в виде JSON`
      : `должно быть не больше ${bytes(of.max)} в виде JSON, потому что копируется в ${of.things} объектов`,
  max_items: (of) => `должно быть не больше ${items(of.max)}`,
  characters: (of) => `должно быть от ${of.from} до ${characters(of.to)}`,
  printable: (of) => `должно состоять из ${upTo(of.from, of.to)} печатных символов`,
  printable_line: 'должно быть одной строкой из печатных символов',
  visible: (of) => `должно состоять из ${of.from}–${of.to} видимых символов ASCII`,
  made_of: (of) => `должно состоять из ${of.from}–${of.to} ${andOf(of.of.map((each) => alphabets[each]))}`,
  hex_digits: (of) => `должно состоять из ${of.digits} шестнадцатеричных цифр`,
  different_characters: 'должно быть хотя бы четыре разных символа',

  uuid: 'нужен UUID',
  id: (of) => `должно быть ID вида ${of.prefix}_…`,
  id_list: (of) => `должно быть до ${of.max} разных ID через запятую`,
  name_of: (of) => `должно быть ${things[of.thing]}`,
  latin_name: (of) => `должно быть названием латинскими буквами или цифрами, не длиннее ${characters(of.max)}`,
  device_name: "должно состоять из 1–64 букв, цифр, пробелов и ._'()+- и начинаться с буквы или цифры",
  operator_name: 'должно состоять из 1–64 букв, цифр, точек, дефисов и подчёркиваний и не быть «tool»',
  account_login:
    'должно состоять из 3–64 букв, цифр, точек, дефисов и подчёркиваний или быть вашей подтверждённой эл. почтой',
  subuser_login: 'должно состоять из 5–32 строчных латинских букв, цифр и _, начинаться с буквы и не с tp',
  email: 'должно быть адресом эл. почты',
  email_for_receipt: 'нужно для чека при этом способе оплаты',
  password_is_login: 'не должно совпадать с логином',
  second_factor_code: 'не тот, что сейчас в приложении-аутентификаторе, или уже использован',
  wireguard_key: 'должно быть открытым ключом WireGuard, как его печатает «wg pubkey»',
  cursor: 'список изменился: загрузите его заново',
  node_cursor: 'выдано не этому узлу; начните заново без него',
  boot_ahead: 'опережает часы магазина больше чем на сутки; что делать, сказано в журнале магазина',

  country_code: 'должно быть кодом страны из двух букв (ISO 3166-1), например DE',
  country_unknown: (of) => `такой страны нет: в ISO 3166-1 нет кода ${of.code}`,
  country_list: 'должно быть «any» или кодами стран через запятую, например DE,FR',
  date: 'должно быть датой, например 2027-01-31',
  moment: 'должно быть датой, например 2027-01-31, или временем, например 2027-01-31T12:00:00Z',
  later_than: (of) => `должно быть позднее ${of.other}`,
  days_after: (of) => `должно быть на ${of.from}–${days(of.to)} позже ${of.other}`,
  earlier_by: (of) => `должно быть не раньше чем за ${days(of.max_days)} до ${of.other}`,
  not_before: (of) => `должно быть не раньше ${of.other}`,
  not_after: (of) => `должно быть не позже ${of.other}`,

  colour: 'нужен цвет, например #0f7563',
  contrast: (of) =>
    `контраст с белым должен быть ${of.needed}, а сейчас ${of.has}; ближайший более тёмный цвет: ${of.nearest}`,
  contact: 'нужен адрес электронной почты или ссылка https:// без логина',
  base64: 'нужен base64',
  image_type: 'нужна картинка PNG, JPEG, WebP или SVG',
  image_size: (of) => `размер не должен превышать ${of.max_kib} КиБ`,
  svg_part: (of) => `содержит ${of.part}: в SVG могут быть только фигуры и тексты`,

  address: 'должно быть адресом IPv4 или IPv6',
  address_or_prefix:
    'должно быть адресом IPv4 или IPv6 либо диапазоном, например 203.0.113.0/24; биты после длины должны быть нулевыми',
  prefix: 'должно быть диапазоном, например 203.0.113.0/24; биты после длины должны быть нулевыми',
  prefix_too_wide: (of) => `должно быть не шире /${of.length} для IPv${of.version}`,
  address_of_kind: (of) => `должно быть IPv${of.version}: у типа ${of.ipv} только такие адреса`,
  address_reserved: 'должно быть публичным адресом, а этот служебный',
  address_unspecified: 'не должно быть неопределённым адресом (из одних нулей)',
  host: 'должно быть именем хоста или адресом',
  webhook_url: 'должно быть адресом без логина и фрагмента, не длиннее 500 видимых символов ASCII',
  webhook_scheme: 'должно быть адресом https',
  webhook_scheme_sandbox: 'должно быть адресом http или https',
  webhook_address: 'не может иметь частный или зарезервированный IP-адрес: магазин отправляет только на публичные',
  webhook_port: 'должно иметь порт 443 или порт от 1024, который не занимают базы данных и почта',
  host_and_port: 'должно быть хостом, возможно с портом',
  web_address: 'должно быть адресом http или https без имени пользователя',
  proxy_url: 'должно быть http://host:port или socks5://host:port, а логин и пароль отдельно',
  asn: 'должно быть номером сети, например 3320',

  template_or: (of) => `должно быть шаблоном или одним из: ${listed(of.allowed)}`,
  placeholder_unknown: (of) => `содержит неизвестную подстановку {${of.name}}; доступны: ${braced(of.known)}`,
  placeholder_missing: (of) => `должно содержать хотя бы одно из: ${braced(of.known)}`,
  login_template: (of) => `должно состоять из 1–${of.max} видимых символов ASCII без двоеточия`,
  template_brackets: 'содержит скобку, которая не закрыта или стоит внутри другой',
  template_idle_brackets: 'содержит скобки вокруг части без подстановки, которую выбирает покупатель',
  only_with_template: 'указывается, только когда имя пользователя — шаблон, например с {country}',
  not_with_template: 'не указывается, когда имя пользователя — шаблон',
  https_needs_login: 'не может быть https в формате без логина',
  https_not_served: 'не может быть https: сейчас ни один шлюз не принимает прокси через TLS',
  login_too_long: (of) => `вместе с остальными полями расположения делает логин длиннее ${characters(of.max)}`,

  location_not_served: (of) => `в этом пуле нет: ${listed(of.names)}`,
  locations_not_served: (of) => `при остальных условиях нет: ${listed(of.names)}`,
  pool_without_exits: 'сейчас нет выходов',
  other_subuser: 'укажите другого субпользователя: трафик берётся у этого',
  several_subscriptions: 'нужно указать: подписок несколько',
  payment_method: 'такого способа оплаты нет; способы перечисляет GET /payments/methods',
  no_payment_method: 'способы оплаты пока не настроены; обратитесь к продавцу',
  promo_code_unknown: 'такого промокода нет',
  promo_code_over: 'больше не действует',
  promo_code_used_up: 'использован максимальное число раз',
  promo_code_used: 'вы его уже использовали',
  promo_code_larger: 'действует при большем пополнении',
  promo_code_minimum: (of) => `действует при пополнении от ${rub(of.min_rub)} ₽`,

  provider_without_secret: (of) => `не указывается: у ${of.provider} нет секрета`,
  setting_unknown: (of) =>
    `содержит неизвестную настройку «${of.name}»; у ${of.provider} есть: ${listed(of.known) || 'нет настроек'}`,
  setting_wrong: (of) => `содержит неверное значение ${of.name} (${of.meaning})`,
  setting_missing: (of) => `должно содержать ${of.name} для ${of.provider} (${of.meaning})`,
  method_bounds: (of) => `для способа ${of.method} сумма должна быть от ${rub(of.from_rub)} до ${rub(of.to_rub)} ₽`,
  method_fee: 'комиссия должна быть меньше 100 %, не больше двух знаков после запятой, например 2.5',

  price_missing: (of) => `нет цены на ${days(of.days)}`,
  rising: 'должно возрастать',
  steps_rising: 'количество и скидка должны возрастать',
  tiers_from_zero: 'должно начинаться с from_gb 0',
  tiers_rising: 'объём должен возрастать, а цена не должна',

  not_json: (of) => `это не JSON, символ ${of.at}: ${jsonFaults[of.fault]}`,
  not_yaml: 'это не прайс-лист в формате YAML или JSON',
  key_twice: (of) => `ключ ${of.key} указан дважды в одном месте: оставьте один`,
  not_utf8: 'не в UTF-8',
  not_gzip: 'не цельный gzip, хотя так указано в Content-Encoding',
  cut_short: 'получено не полностью',
  too_slow: (of) => `не пришло за ${count(of.seconds, { one: 'секунду', few: 'секунды', other: 'секунд' })}`,
  not_a_notification: 'это не уведомление этой платёжной системы',

  ignored_unknown: 'неизвестное поле, не учтено',
  ignored_similar: (of) => `неизвестное поле, не учтено; возможно, имелось в виду ${of.nearest}`,
  ignored_in_address: 'не учтено в адресе; эта операция читает его из тела запроса',
  ignored_for: (of) => `не учтено, потому что указано ${of.other}`,
  read_as: (of) => `прочитано как ${of.other}`,
  key_misplaced: 'не учтено, поэтому повтор запроса небезопасен; передайте его в заголовке Idempotency-Key',
  key_unused: 'не учтено: эта операция ничего не списывает и не принимает ключ',
  more_unknown: (of) => `содержит ещё ${unknownFields(of.fields)}`,
  whitelist_empty:
    'даёт строки только для адресов из белого списка, а он пуст: добавьте адрес через POST /premium/whitelist/add',
  no_vpn_node_up:
    'Ни один узел VPN не работает, поэтому конфигурация пока не подключается. На машине Linux с правами root и ' +
    'WireGuard его запускает «turnpike up --local-nodes vpn».',
}
