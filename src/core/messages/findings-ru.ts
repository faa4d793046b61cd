import type { Translation } from './catalogue.ts'
import type { ChainEntry, FindingSentences, findingsEn } from './findings-en.ts'

const rub = (amount: string): string => amount.replace('.', ',')

/** Genitive of one entry of a chain with its adjectives, and of many. */
const entries: Readonly<Record<ChainEntry, { readonly before: string; readonly last: string; readonly many: string }>> =
  {
    posting: { before: 'предыдущей проводки', last: 'последней проводки', many: 'проводок' },
    movement: { before: 'предыдущего движения', last: 'последнего движения', many: 'движений' },
    entry: { before: 'предыдущей записи', last: 'последней записи', many: 'записей' },
    checkpoint: {
      before: 'предыдущей контрольной точки',
      last: 'последней контрольной точки',
      many: 'контрольных точек',
    },
    event: { before: 'предыдущего события', last: 'последнего события', many: 'событий' },
  }

const tables: Readonly<Record<string, string>> = {
  checkpoints: 'контрольные точки',
  customers: 'покупатели',
  devices: 'устройства VPN',
  movements: 'движения трафика',
  orders: 'заказы',
  postings: 'проводки',
}

const kinds: Readonly<Record<string, string>> = {
  charge: 'списание',
  credit: 'пополнение',
  debit: 'удержание',
  refund: 'возврат',
}
const kind = (name: string): string => kinds[name] ?? name

const states: Readonly<Record<string, string>> = {
  new: 'создан',
  pending: 'ожидает оплаты',
  paid: 'оплачен',
  expired: 'истёк',
  cancelled: 'отменён',
  refunded: 'возвращён',
}
const state = (name: string): string => states[name] ?? name

const promises: Translation<typeof findingsEn.promises> = {
  answer: 'Сохранённый ответ',
  api_spent: 'Потрачено через API',
  audit: 'Журнал',
  balance: 'Баланс',
  budget: 'Лимит показаний узла',
  bytes: 'Трафик',
  cap: 'Лимит токена',
  chain: 'Цепочка проводок',
  checkpoint: 'Контрольная точка',
  constraint: 'Ограничение базы',
  counter: 'Счётчик номеров',
  days: 'Трафик по дням',
  delivery: 'Выданное',
  event: 'Событие',
  exit: 'Выход',
  file: 'Файл базы',
  history: 'История строк',
  hosts: 'Трафик по хостам',
  hours: 'Трафик по часам',
  lease: 'Аренда',
  lots: 'Купленный трафик',
  node: 'Узел',
  order: 'Заказ',
  payment: 'Платёж',
  port: 'Порт',
  posting: 'Проводка',
  price: 'Цена',
  refund: 'Возврат',
  schema: 'Схема базы',
  secret: 'Секрет',
  'sign-in': 'Вход',
  stock: 'Адреса',
  'sub-user': 'Субпользователь',
  sum: 'Сумма счетов',
  term: 'Срок',
  token: 'Токен',
  totals: 'Суммы дней',
  'traffic order': 'Заказ трафика',
  verifier: 'Часть сверки',
  vpn: 'VPN',
  webhook: 'Вебхук',
}

const advices: Translation<typeof findingsEn.advices> = {
  schema: 'остановите магазин, сравните схему с миграциями и верните недостающее до следующей записи',
  file:
    'остановите магазин, отложите копию файла и восстановите последнюю резервную копию, которая сходится; более ' +
    'поздние продажи есть в отложенном файле',
  constraint: 'выберите строки, которые нарушают ограничение, и восстановите их из резервной копии',
  history: 'прочитайте версии строки в row_history и верните верную; её изменили в обход магазина',
  totals: 'удалите день из summed_days: магазин за минуты посчитает его снова; узнайте, кто изменил строку',
  checkpoint: 'оставьте эту базу как есть и сравните её с резервной копией старше контрольной точки',
  other: 'сравните строку с резервной копией; вычисляемое, например баланс, следует из строк, по которым вычислено',
}

const notes: Translation<typeof findingsEn.notes> = {
  schema_not_compared:
    'Схема не сравнивалась с миграциями: пользователю базы, под которым работает магазин, нельзя создавать схемы.',
  found_by_earlier_part:
    'Эта часть ничего не нашла. Прежние части или полная сверка нашли проблемы, и с тех пор ни один полный круг не ' +
    'прошёл без них. Что осталось, покажет полная сверка.',
}

const subjects: Translation<typeof findingsEn.subjects> = {
  account: (of) => `счёт ${of.customer}`,
  accounts: 'все счета',
  address: (of) => `адрес ${of.address}`,
  answer: (of) => `ответ для ${of.customer} на ключ ${of.key}`,
  audit_entry: (of) => `запись ${of.seq} журнала`,
  audit_log: 'журнал',
  block: (of) => `блок ${of.prefix}`,
  budget: (of) => `лимит узла ${of.node}`,
  checkpoint: (of) => `контрольная точка ${of.number}`,
  checkpoint_kept: (of) =>
    of.number === null ? `контрольная точка ${of.hash}` : `контрольная точка ${of.number}, ${of.hash}`,
  constraint: (of) => `${of.table}: ${of.name}`,
  counter: (of) => (of.name === 'slot' ? 'счётчик мест' : 'счётчик прокси'),
  device: (of) => `устройство ${of.id}`,
  webhook: (of) => `адрес вебхуков ${of.id}`,
  delivery: (of) => `доставка ${of.id}`,
  event: (of) => `событие ${of.seq} у ${of.customer}`,
  exit: (of) => `выход ${of.id}`,
  file: 'файл базы',
  lease: (of) => `аренда места ${of.slot}`,
  login: (of) => `логин ${of.owner}`,
  movement: (of) => `движение ${of.seq} трафика ${of.pool} у ${of.subuser}`,
  named: (of) => of.name,
  node: (of) => `узел ${of.name}`,
  order: (of) => `заказ ${of.id}`,
  outage: (of) => `перерыв в работе прокси ${of.proxy}`,
  part: (of) => `часть ${of.name}`,
  payment: (of) => `платёж ${of.id}`,
  peer_value: (of) => `${of.what === 'public key' ? 'открытый ключ' : of.what.replace(' address', '')} ${of.value}`,
  slot: (of) => `место ${of.id}`,
  port: (of) => `порт ${of.port}`,
  posting: (of) => `проводка ${of.seq} у ${of.customer}`,
  provider: (of) => `платёжная система ${of.name}`,
  proxy: (of) => `прокси ${of.id}`,
  range: (of) => `диапазон ${of.id}`,
  row: (of) => `${of.table} ${of.key}`,
  shop: 'магазин',
  subject: (of) => of.subject,
  subject_at_node: (of) => `${of.subject} на узле ${of.node}`,
  subscription: (of) => `подписка ${of.uuid}`,
  subuser: (of) => `субпользователь ${of.id}`,
  table: (of) => tables[of.table] ?? of.table,
  token: (of) => `токен ${of.id}`,
  traffic: (of) => `трафик ${of.pool} у ${of.subuser}`,
  sums_of_day: (of) => `суммы ${of.of === 'postings' ? 'проводок' : 'заказов'} за ${of.day}`,
  traffic_account: (of) => `счёт трафика ${of.pool} у ${of.subuser}`,
}

const problems: Translation<typeof findingsEn.problems> = {
  check_failed: (of) => `проверить не удалось: ${of.error}`,
  part_failed: (of) => `проверка оборвалась, прочитаны не все строки: ${of.error}`,
  table_unreadable: (of) => `таблица не читается: ${of.error}`,
  id_date: (of) => `время создания ${of.stored}, а номер выдан в ${of.expected}`,
  rows_counted: (of) => `строк ${of.rows}, а по ${of.by === 'accounts' ? 'счетам' : 'платежам'} ${of.counted}`,
  checksum: 'контрольная сумма не сходится с записанными числами',
  counted_unknown: 'узлы сообщили о его байтах, а его самого нет',
  counter_behind: (of) => `следующий номер ${of.next}, а ${of.last} уже занят`,
  kind_differs: (of) => `тип ${of.stored}, должен быть ${of.expected}`,
  price_differs: (of) => `цена заказа ${of.order} ${rub(of.stored)}, а по прайс-листу ${rub(of.expected)}`,

  chain_gap: (of) => `номер ${of.seq}, должен быть ${of.expected}: не хватает ${entries[of.entry].many}`,
  chain_hash: (of) => `отпечаток не сходится с содержанием и отпечатком ${entries[of.entry].before}`,
  chain_date: (of) => `время ${of.stored} раньше времени ${entries[of.entry].before}, ${of.before}`,
  chain_count: (of) => `значится ${entries[of.entry].many}: ${of.stored}, а есть: ${of.found}`,
  chain_head: (of) => `записанный конец цепочки не сходится с отпечатком ${entries[of.entry].last}`,
  chain_end_date: (of) => `записанное время ${entries[of.entry].last} ${of.stored}, должно быть ${of.expected}`,
  entry_redacted: 'запись сокращена при стирании, а содержание не сходится с печатью',

  part_missing: 'миграции её создают, а в базе её нет',
  part_differs: 'определение не то, которое создают миграции',
  part_unknown: 'её не создаёт ни одна миграция',
  constraint_broken: (of) => `нарушают строк: ${of.rows}`,
  reference_broken: (of) => `строка ссылается на отсутствующую строку ${of.parent}`,
  file_damaged: (of) => `проверка целостности SQLite сообщает: ${of.report}`,
  row_changed: 'строка не совпадает с последней версией в row_history',
  row_gone: 'строки нет, а в row_history нет её удаления',
  versions_missing: 'в row_history не хватает версий строки',
  version_number: (of) =>
    of.keeps_all
      ? 'в row_history есть версия 0; версии этой таблицы нумеруются с 1'
      : 'в row_history есть версия с номером; для этой таблицы хранится только версия 0',
  key_differs: 'секреты магазина зашифрованы не тем ключом, что есть сейчас',

  balance_after: (of) => `balance_after равен ${rub(of.stored)}, должно быть ${rub(of.expected)}`,
  balance_negative: (of) => `баланс после неё ${rub(of.stored)}, а ${kind(of.kind)} не может оставить долг`,
  balance_differs: (of) => `баланс ${rub(of.stored)}, а сумма проводок ${rub(of.expected)}`,
  api_spent: (of) => `api_spent равен ${rub(of.stored)}, а сумма проводок ${rub(of.expected)}`,
  posting_sign: (of) =>
    `${kind(of.kind)}: сумма должна быть ${of.sign === 'negative' ? 'меньше' : 'больше'} нуля, здесь ${rub(of.stored)}`,
  posting_house: (of) => `${kind(of.kind)} нельзя проводить по ${of.house}`,
  refund_without_charge: (of) =>
    of.charge === null
      ? 'это возврат, но списание не названо'
      : `возвращает проводку ${of.charge}, а это не предыдущее списание этого счёта`,
  refund_too_large: (of) => `возвраты списания ${of.charge} в сумме ${rub(of.stored)}, а списано ${rub(of.max)}`,
  refund_elsewhere: (of) => `заказ, токен или счёт магазина не те, что у списания ${of.charge}`,
  sum_not_zero: (of) => `сумма всех счетов ${of.kopecks} копеек, должна быть 0`,
  token_spent: (of) => `потрачено ${rub(of.stored)}, а сумма проводок ${rub(of.expected)}`,
  token_over_cap: (of) => `потрачено ${rub(of.spent)}, а лимит ${rub(of.cap)}`,
  token_owner: (of) => `${of.customer} платил этим токеном, но токен чужой`,
  accounts_counted: (of) => `покупателей ${of.customers}, а счетов ${of.accounts}`,
  day_sums: (of) => `в суммах дня записано «${of.stored}», а по строкам выходит «${of.expected}»`,
  checkpoint_absent: 'хранится отдельно, а в этой базе её нет',
  checkpoint_stamp: (of) => `версии строк называют контрольную точку ${of.stored}, а последняя ${of.last}`,
  checkpoint_versions: (of) =>
    `охватывает версий строк: ${of.stored}; отпечаток тех, что её называют (их ${of.found}), с ней не сходится`,
  checkpoint_amendments: 'записанные стирания её версий строк не ведут от отпечатка к отпечатку',
  checkpoint_erased: (of) => `стёрто её версий строк: ${of.expected}, а пустых: ${of.found}`,
  checkpoint_accounts: (of) => `охватывает ${of.stored}; по проводкам до неё ${of.found} или другой отпечаток`,

  charge_without_order: (of) =>
    of.order === null ? 'списание не называет заказа' : `списание называет заказ ${of.order}, а у того другое списание`,
  orders_without_account: 'некоторые заказы принадлежат покупателям без счёта',
  order_uncharged: (of) => `цена ${rub(of.price)}, а списания нет`,
  order_charge_missing: (of) => `его списания, проводки ${of.charge}, нет`,
  order_charge_other: (of) =>
    `его списание, проводка ${of.charge}, ${of.order === null ? 'ни за какой заказ' : `за заказ ${of.order}`}`,
  order_amount: (of) => `списано ${rub(of.charged)}, а цена ${rub(of.price)}`,
  order_token: (of) => `проводка ${of.charge} списана не через токен заказа`,
  order_house: (of) => `списание проведено по ${of.stored}, должно быть по ${of.expected}`,
  order_unreadable: 'записанный запрос или расчёт не читается',
  order_price: (of) => `цена ${rub(of.price)} не следует из запроса и прайс-листа`,

  refund_step: (of) => `возврат в платёжной системе называет шаг ${of.step}, которого нет`,
  payments_posted: (of) => `платежи называют проводок: ${of.postings}, а шагов с деньгами: ${of.steps}`,
  step_missing: (of) => `нет шага ${of.step}`,
  step_state: (of) =>
    `шаг ${of.step} ведёт из «${of.from === null ? 'ничего' : state(of.from)}» в «${state(of.to)}», так нельзя`,
  step_total: (of) => `в шаге ${of.step} итог ${rub(of.stored)}, должен быть ${rub(of.expected)}`,
  steps_counted: (of) => `значится шагов ${of.stored}, а есть ${of.found}`,
  payment_state: (of) =>
    `состояние «${state(of.stored)}», а шаги кончаются на «${of.expected === null ? 'ничего' : state(of.expected)}»`,
  payment_sum: (of) =>
    `${of.column === 'credited' ? 'зачислено' : 'списано'} ${rub(of.stored)}, а по шагам ${rub(of.expected)}`,
  payment_amount: (of) => `зачислено ${rub(of.credited)}, а платёж на ${rub(of.amount)}`,
  step_without_posting: (of) => `шаг ${of.step} двигал деньги, а такой проводки нет`,
  posting_without_step: (of) => `проводка ${of.posting} у ${of.customer} называет его, а такого шага нет`,

  webhook_secret: 'секреты не открываются ключом этого магазина',
  webhook_address: 'такого адреса клиент добавить не может',
  webhook_progress: 'положение в очереди не сходится с клиентом, событиями или ожидающими доставками',
  delivery_mismatch: 'не сходится со своим адресом или событием',
  delivery_result: 'статус не сходится с попытками',
  event_changed: 'содержание не сходится с контрольной суммой',
  event_type: (of) => `вида события ${of.type} нет`,
  event_unreadable: 'данные не являются объектом JSON',
  event_last: (of) => `значится последним, а последнее из хранимых ${of.kept}`,
  event_unnumbered: 'последний номер событий этого покупателя не записан',

  login_changed: 'логин или почта не сходятся с записанным отпечатком',
  entry_unknown: 'входной узел не существует',
  private_key_other: 'закрытый ключ не соответствует открытому',
  password_key_sealed: 'ключ паролей прокси не расшифровывается',
  private_key_sealed: 'закрытый ключ не расшифровывается',
  private_key_kept: 'хранится закрытый ключ, а у этого устройства его быть не должно',
  access_keys_sealed: 'ключей для прокси поверх TLS нет, или они не расшифровываются',
  access_keys_kept: 'хранятся ключи для прокси поверх TLS, а у удалённого устройства их быть не должно',
  password_digest: 'пароль не сходится с отпечатком, который есть у узлов',
  password_sealed: 'пароль не расшифровывается',
  subuser_heir: (of) => `его трафик идёт субпользователю ${of.heir}, которого нет или который у другого покупателя`,
  port_login: 'логин не читается, или он от другого субпользователя',

  lease_none: (of) => (of.held ? 'он занят, а открытой аренды нет' : 'аренды не было никогда'),
  lease_begin: (of) => `первая аренда начинается ${of.stored}, а покупка была ${of.bought}`,
  leases_apart: 'аренды не следуют одна за другой',
  lease_open: (of) => `прокси ${of.proxy} прекращён, а аренда открыта`,
  lease_end: (of) => `последняя аренда кончилась ${of.stored}, а прокси ${of.expected}`,
  lease_address: (of) => `прокси ${of.proxy} показывает ${of.shown}, а арендовано ${of.leased}`,
  lease_without_proxy: (of) => `его арендует прокси ${of.proxy}, которого нет`,
  proxy_ended_held: (of) => `прекращён ${of.ended}, но всё ещё занят`,
  proxy_replaced: (of) =>
    of.stored === null
      ? 'аренд несколько, а время замены не записано'
      : `заменён ${of.stored}, а две последние аренды в это время не сходятся`,
  proxy_username: (of) => `в имени ${of.username} нет его номера`,
  proxy_unordered: (of) => `заказ ${of.order} его не покупал`,
  proxy_owner: (of) => `владелец ${of.stored}, а купил ${of.expected}`,
  proxy_begin: (of) => `начинается ${of.stored}, а куплен ${of.bought}`,
  proxy_resumed: (of) => `возобновлён ${of.stored}, а тогда его не продлевал ни один заказ`,
  proxy_end: (of) => `истекает ${of.stored}, а по заказам и перерывам ${of.expected ?? 'конца нет'}`,
  proxies_missing: (of) => `нет его прокси: ${of.count}`,
  proxy_missing: 'прокси нет',
  address_kind: (of) => `адрес ${of.address} не подходит к типу ipv ${of.ipv}`,
  address_held_twice: (of) =>
    of.shared
      ? `у его покупателя есть ещё прокси с адресом ${of.address}`
      : `адрес ${of.address} есть у другого прокси`,
  slot_held_twice: (of) => `место ${of.slot} есть у другого прокси`,
  outage_base: (of) => `перерыв продлил срок ${of.stored ?? '(не записан)'}, которого у прокси не было`,
  outage_open: (of) =>
    of.stored === null
      ? `открытых перерывов ${of.open}, а прокси не прерван`
      : `прерван с ${of.stored}, а по открытым перерывам (их ${of.open}) это не так`,
  outage_early: (of) => `перерыв начался раньше прокси, который начинается ${of.begun}`,

  range_prefix: (of) => `префикс ${of.prefix} не читается`,
  trial_wrong: (of) =>
    `о нём сообщает узел ${of.node}, который не имеет на это права, или сообщает адреса вне диапазона`,
  trial_proof: (of) =>
    `доказательство узла ${of.node}, вызов с ${of.from ?? '(не записано)'}, вне диапазона или без времени`,
  serving_node_wrong: (of) =>
    of.node === null
      ? 'его не обслуживает ни один узел, хотя может'
      : `его обслуживает узел ${of.node}, не сообщавший о нём`,
  known_node: (of) => `узел ${of.node}, который знает покупатель, не шлюз, или место не занято`,
  node_without_range: (of) => `его обслуживает узел ${of.node}, а он ни в одном диапазоне`,
  slot_range: (of) => `адрес не в своём диапазоне ${of.range}`,
  slot_state: (of) =>
    of.state === 'leased' ? 'занят, а открытой аренды нет' : `состояние ${of.state}, а аренда открыта`,
  slot_overlap: 'две его аренды пересекаются, или такого места нет',
  slot_free_from: 'free_from не равно концу последней аренды',
  address_two_kinds: 'он в наличии под двумя типами',
  address_is_exit: 'он и в наличии, и выход премиум-пула',
  address_unreadable: (of) => `адрес ${of.address} не читается`,
  country_unknown: (of) => `страны ${of.country} нет`,

  movement_sums: (of) => `после него записано ${of.stored}; сумма движений ${of.expected}`,
  movement_negative: (of) => `сумма до него ниже нуля: ${of.found}`,
  bytes_differ: (of) => `на счёте ${of.stored}; сумма движений ${of.expected}`,
  lots_rest: (of) => `в купленном ${of.stored} байт, на счёте ${of.expected}`,
  lots_size: (of) => `куплено ${of.stored} байт, а по движениям пришло ${of.expected}`,
  lots_stray: 'купленное относится к счёту, которого нет',
  moved_uneven: (of) => `пришло на ${of.bytes} байт больше, чем ушло`,
  lease_totals: (of) => `у узлов ${of.stored}; по счёту ${of.expected}`,
  lease_bytes_lost: (of) => `счёт выделил ${of.bytes} байт, а ни у одного узла их нет`,
  lease_count: 'счёт не совпадает с отчётом узла, или учтено больше, чем принято',
  budget_node: 'её узел ещё ничего не сообщал',
  budget_missing: (of) =>
    of.of === 'counts' ? 'узел сообщал о байтах, а лимита у него нет' : 'узел расходовал аренды, а лимита на них нет',
  count_without_lease: 'узел сосчитал байты, а аренды на них у него нет',
  boot_unknown: (of) => `запуск узла, у которого ${of.of === 'count' ? 'этот счёт' : 'эта аренда'}, ничего не сообщал`,
  exit_days: 'сумма по дням не сходится с тем, что насчитали шлюзы',
  exit_report: 'о выходе есть сообщение, а самого выхода или сообщившего шлюза нет',
  hours_differ: (of) => `по часам ${of.stored} байт; учтено ${of.billed}, и столько должны были насчитать узлы`,
  days_over: (of) => `по дням показано ${of.stored} байт, а узлы насчитали ${of.counted}`,
  hosts_over: (of) => `показано ${of.stored} байт, а узлы насчитали ${of.counted}`,
  order_named: (of) => `его называют строки ${of.table}, а такого заказа трафика нет`,
  traffic_action: (of) => `действие ${of.action}, должно быть buy, move или delete`,
  traffic_input: (of) => `запрос не подходит к действию ${of.action}`,
  traffic_moved: (of) => `записано, что перенесено ${of.stored} байт, а по движениям ${of.moved}`,
  traffic_undelivered: 'оплачен, а байты не выданы',
  traffic_delivered_twice: (of) => `выдан раз: ${of.count}`,
  traffic_delivered: (of) => `выдано ${of.bytes} байт в пуле ${of.pool}, а в расчёте другой пул или другое количество`,
  price_list_missing: 'его прайс-листа нет',
  traffic_priced: 'оценён за другой пул или количество, чем в запросе',
  traffic_subuser: (of) => `выдан ${of.stored}, а в запросе другой субпользователь`,
  lots_expiry: (of) =>
    of.expected === null
      ? 'байты истекают, а по прайс-листу не должны'
      : `байты истекают не ${of.expected}, как в прайс-листе`,
  lots_pool: (of) => `часть его байт не в пуле ${of.expected}`,
  lots_subuser: (of) => `у ${of.subuser} нет купленного, или там меньше купленных ${of.bytes} байт`,
  lots_left: (of) => `осталось ${of.left} байт, а куплено ${of.bought}`,
  lots_owner: 'часть его байт у другого покупателя',

  term_number: (of) => `срок с номером ${of.term}, должен быть ${of.expected}`,
  term_overlap: (of) => `срок ${of.term} начинается до конца предыдущего`,
  term_length: (of) => `срок ${of.term} длится не ${of.months} мес.`,
  term_used: (of) => `по сроку ${of.term} до него использовано ${of.stored} байт, а могло быть не больше ${of.max}`,
  term_refund_open: (of) => `срок ${of.term} возвращён, а подписка не удалена`,
  term_refund_large: (of) => `по сроку ${of.term} возвращено ${rub(of.stored)}, а не использовано ${rub(of.max)}`,
  term_refund: (of) => `по сроку ${of.term} возвращено ${rub(of.stored)}, а по проводкам ${rub(of.expected)}`,
  term_unpaid: (of) => `заказа ${of.order}, которым оплачен срок ${of.term}, нет`,
  term_customer: (of) => `срок ${of.term} оплачен заказом ${of.order} другого покупателя`,
  term_action: (of) => `срок ${of.term} оплачен действием ${of.stored}, должно быть ${of.expected}`,
  term_months: (of) => `срок ${of.term} длится ${of.months} мес., а в запросе заказа другой период`,
  term_calculation: (of) => `заказ ${of.order} оценён за другую подписку или период, чем срок ${of.term}`,
  term_product: (of) => `срок ${of.term} оплачен заказом на ${of.stored}`,
  term_price: (of) => `цена срока ${of.term} ${rub(of.stored)}, а заказа ${rub(of.expected)}`,
  term_early: (of) => `срок ${of.term} начинается ${of.begins}, а оплачен ${of.paid}`,
  term_plan: (of) => `заказ ${of.order} не называет прайс-листа, где продаётся ${of.months} мес.`,
  term_traffic: (of) =>
    `срок ${of.term} даёт байт: ${of.stored ?? 'без лимита'}, а по прайс-листу: ${of.expected ?? 'без лимита'}`,
  subscription_unpaid: 'её не оплатил ни один заказ',
  subscription_end: (of) => `истекает ${of.stored}, а её сроки кончаются ${of.expected}`,
  subscription_day: (of) => `сроки кончаются ${of.stored}-го числа, должно быть ${of.expected}-го`,
  subscription_traffic: (of) =>
    `лимит трафика ${of.stored ?? 'не задан'}, а сроками дано ${of.expected ?? 'без ограничений'}`,
  subscription_speed: (of) =>
    `скорость ${of.stored ?? 'без ограничений'}, а оплачена последней ${of.expected ?? 'без ограничений'}`,
  subscription_devices: (of) => `можно устройств ${of.stored}, а оплачено последним ${of.expected}`,
  subscription_slots: (of) => `докупленных мест ${of.stored}, а заказами оплачено ${of.expected}`,
  term_devices: (of) => `у срока ${of.term} устройств без купленных мест ${of.stored}, а не больше ${of.expected}`,
  slots_end: (of) => `неоплаченные места кончаются ${of.stored ?? 'никогда'}, а по срокам ${of.expected ?? 'никогда'}`,
  term_slots: (of) => `сроком ${of.term} продлено мест ${of.stored}, а по заказу или прежним срокам ${of.expected}`,
  slots_order: (of) => `места для устройств не куплены заказом ${of.order} по его цене`,
  slots_time: (of) => `места заказа ${of.order} действуют не от покупки до конца срока`,
  slots_refund: (of) => `за места заказа ${of.order} возвращено ${rub(of.stored)}, а должно быть ${rub(of.expected)}`,
  subscription_held: (of) =>
    of.deleted ? `она удалена, а устройств ${of.held}` : `устройств ${of.held}, а можно не больше ${of.max}`,
  link_kept: 'она удалена, а ссылка хранится',
  link_sealed: 'её ссылка не расшифровывается',
  link_digest: 'её ссылка не сходится с отпечатком, по которому её находят',
  carried_bytes: (of) =>
    `передано ${of.stored} байт, а по ${of.by === 'devices' ? 'устройствам' : 'сообщениям узлов'} ${of.expected}`,
  peers_share: (of) => `сразу у устройств: ${of.count}`,
  peer_address: 'его адрес выдан не ему',
  peer_ipv6: (of) => `адрес IPv6 ${of.stored} не кончается его адресом IPv4`,
  address_stray: 'он выдан устройству, у которого его нет',
  peers_stray: (of) => `не относятся ни к одной подписке: ${of.count}`,
  terms_counted: (of) => `заказов ${of.orders}, а сроков ${of.terms}`,
}

const differences: Translation<typeof findingsEn.differences> = {
  not_listed: 'зачислен здесь, а в списке платёжной системы его нет',
  unknown_there: 'в платёжной системе такого платежа нет',
  unknown_here: 'оплачен в платёжной системе, а здесь его нет',
  not_paid_there: (of) => `зачислен здесь, в платёжной системе: ${state(of.state)}`,
  not_paid_here: (of) => `оплачен в платёжной системе, здесь: ${state(of.state)}`,
  paid_twice: 'оплачен в платёжной системе второй раз',
  amount: (of) => `в платёжной системе ${rub(of.there)} ₽, здесь ${rub(of.here)} ₽`,
  refunded: (of) => `в платёжной системе возвращено ${rub(of.there)} ₽, здесь списано ${rub(of.here)} ₽`,
}

/** The Russian sentences of findings and differences. */
export const findingsRu: FindingSentences = { promises, advices, notes, subjects, problems, differences }
