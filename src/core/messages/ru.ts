import type { DatabaseProblem } from './en.ts'
import { createMoment, createPlural, createRub } from './numbers.ts'
import { listProblems } from './problems.ts'
import { problemsRu } from './problems-ru.ts'
import type { Sentences } from './sentences.ts'

const rub = createRub('ru')
const moment = createMoment('ru')
const count = createPlural('ru')
/** After `не больше`. */
const genitive = (number: number, one: string, other: string): string => count(number, { one, other })
const decimal = (number: number): string => String(number).replace('.', ',')

const roles: Readonly<Record<string, string>> = { owner: 'владелец', support: 'поддержка', reader: 'читатель' }
const statuses: Readonly<Record<string, string>> = {
  EXPIRED: 'срок истёк',
  DISABLED: 'отключена',
}
const pools: Readonly<Record<string, string>> = {
  residential: 'резидентные',
  residential_premium: 'резидентные премиум',
  datacenter: 'датацентр',
  mobile: 'мобильные',
}
const pool = (name: string): string => `«${pools[name] ?? name}»`
const ipvs: Readonly<Record<number, string>> = { 3: 'IPv4 общий', 4: 'IPv4 выделенный', 6: 'IPv6 выделенный' }
const ipv = (number: number): string => `«${ipvs[number] ?? number}»`

const databaseProblems: Readonly<Record<DatabaseProblem, string>> = {
  late: 'База данных не ответила вовремя.',
  unwritable: 'В базу данных сейчас нельзя записать.',
  changed: 'База данных заменена другим её состоянием.',
}

/** The Russian sentence of each reason for a refusal. */
export const ru: Sentences = {
  node_kind_wrong: (of) => `Этот путь недоступен узлам типа «${of.kind}».`,
  node_path_not_found: 'Такого пути в API узлов нет.',
  method_not_allowed: (of) => `Здесь нужен метод ${of.methods.join(' или ')}.`,
  node_private_key_missing: 'У магазина нет закрытого ключа этого узла.',
  order_not_found: 'Такого заказа нет.',
  subuser_not_found: 'Такого субпользователя нет.',
  payment_not_found: 'Такого платежа нет.',
  token_not_found: 'Такого токена нет.',
  proxy_not_found: 'Такого прокси нет.',
  subscription_not_found: 'Такой подписки нет.',
  verification_running: 'Сверка уже идёт.',
  node_not_found: 'Такого узла нет. Все узлы — на странице «Сеть».',
  customer_not_found: 'Такого покупателя нет. Список выводит «turnpike customer list».',
  view_needs_session: 'Чтобы смотреть страницы покупателя, войдите в консоль.',
  refund_amount_with_end: 'Если купленное прекращается, сумму возврата не указывают.',
  exit_not_found: 'Такого выхода нет. Список выводит «turnpike exit list».',
  exit_in_service: (of) => `Этот выход используется. Сначала выведите его: «turnpike exit drain ${of.id}».`,
  notice_not_found: 'Такого уведомления нет, или оно уже закрыто.',
  reconciliation_running: 'Сверка платежей уже идёт.',
  reconciliation_failed: 'Сверка не удалась. Ошибка записана в логе магазина.',
  code_not_found: 'Такого промокода нет, или он уже прекращён.',
  price_list_not_found: 'Такого прайс-листа нет.',
  view_is_read_only: 'Оператор, который смотрит страницы покупателя, не может там ничего изменить или выгрузить.',
  password_first: 'Ничего не изменено: сначала задайте пароль. До этого здесь можно только смотреть.',
  session_not_found: 'Такого сеанса нет.',
  body_too_large: (of) => `Запрос может быть не больше ${of.max_kib} КиБ.`,
  url_too_long: (of) =>
    `URL может быть не длиннее ${of.max_kib} КиБ. Длинные списки id отправляйте частями или в теле POST.`,
  headers_too_large: (of) => `Заголовки запроса могут быть вместе не больше ${of.max_kib} КиБ.`,
  body_not_json: 'Отправьте тело в JSON с заголовком Content-Type: application/json.',
  body_encoding_unknown: 'Тело запроса должно быть без сжатия или с Content-Encoding: gzip.',
  rate_limited: 'Слишком много запросов. Повторите через столько секунд, сколько указано в Retry-After.',
  change_limit: (of) =>
    `Ничего не изменено: запрос меняет ${of.rows} строк, а из ваших ${of.per_hour} в час осталось ${of.left}. ` +
    'Повторите через столько секунд, сколько указано в Retry-After, или меняйте меньше за раз.',
  session_needed: 'Войдите в консоль: с токеном эта операция недоступна, независимо от его прав.',
  other_customer_signed_in: 'В этом браузере вошёл другой покупатель. Ничего не куплено. Обновите страницу.',
  connection_closed: 'Соединение закрылось до ответа. Ничего не изменилось.',
  shop_stopping: 'Магазин перезапускается. Ничего не изменено; повторите через минуту.',
  internal_error:
    'Внутренняя ошибка. Покупку повторяйте только с тем же Idempotency-Key. В обращении укажите X-Request-Id.',
  path_not_found: 'Такого пути в API нет. Все операции перечислены в /docs.',
  file_not_found: 'Такого файла нет. Загрузите страницу заново.',
  vpn_subscription_not_found: 'Такой подписки VPN нет.',
  vpn_device_not_found: 'Такого устройства VPN нет.',
  vpn_device_missing: 'У этой подписки нет устройств. Добавьте одно.',
  no_vpn_node_up: 'Сейчас не работает ни один узел VPN. Деньги не списаны; повторите позже.',
  no_vpn_address_free: 'Сейчас нет свободных адресов VPN. Деньги не списаны; обратитесь к продавцу.',
  public_key_in_use: 'Этот ключ уже используется. У каждого устройства должен быть свой.',
  device_limit: (of) =>
    `У подписки уже ${count(of.limit, { one: 'устройство', few: 'устройства', other: 'устройств' })}, больше нельзя. ` +
    'Сначала удалите одно.',
  daily_device_limit: (of) =>
    `За день можно добавить не больше ${genitive(of.max, 'устройства', 'устройств')}. Повторите завтра.`,
  subscription_not_active: (of) =>
    `Состояние подписки: ${statuses[of.status] ?? of.status}. Добавить устройство нельзя.`,
  subscription_disabled: 'Эта подписка отключена. Обратитесь к продавцу.',
  paid_too_far_ahead: (of) =>
    `Подписку нельзя оплатить больше чем на ${count(of.years, { one: 'год', few: 'года', other: 'лет' })} ` +
    'вперёд. Деньги не списаны.',
  subscription_limit: (of) =>
    `У покупателя может быть не больше ${genitive(of.max, 'подписки', 'подписок')} VPN. Деньги не списаны.`,
  renewal_not_due: 'Продлевать эту подписку уже не нужно.',
  vpn_node_not_found: 'Открытого узла VPN с таким именем нет.',
  device_location_differs: (of) =>
    `Устройство этой подписки заказано в ${of.chosen}, а узел находится в ${of.offered}.`,
  subscription_refund_is_unused_part:
    'При прекращении подписки возвращается цена неиспользованной части, но не полная цена.',
  idempotency_key_reused: (of) =>
    `С этим Idempotency-Key уже выполнен другой запрос${of.order === null ? '' : ` (заказ ${of.order})`}. ` +
    'Повторите его в точности, чтобы получить его ответ, или возьмите новый ключ.',
  request_in_progress: 'Запрос с этим ключом ещё выполняется. Повторите его через минуту, чтобы получить ответ.',
  operator_key_reused: 'Этот ключ уже использован для другого действия. Укажите новый.',
  role_too_low: (of) =>
    `Для этого нужна роль «${roles[of.needed] ?? of.needed}», а у вас «${roles[of.has] ?? of.has}».`,
  operator_not_found: 'Такого оператора нет.',
  operator_removed: 'Этот оператор удалён.',
  operator_name_taken: (of) => `Оператор «${of.name}» уже есть.`,
  operator_name_invalid: 'Имя: от 1 до 64 букв, цифр, точек, дефисов и подчёркиваний, и не «tool».',
  last_owner: 'Это последний владелец. Сначала назначьте другого.',
  customer_blocked: 'Учётная запись заблокирована. Обратитесь к продавцу.',
  token_address_not_allowed: 'С этого адреса токеном пользоваться нельзя. Нужен адрес из его списка или другой токен.',
  scope_missing: (of) => `У этого токена нет права «${of.needed}». Возьмите токен с этим правом.`,
  passwords_scope_missing: 'Пароли, ключи и секретные ссылки видны только с правом «passwords».',
  token_limit: (of) => `Открытых токенов может быть не больше ${of.max}. Сначала отзовите один.`,
  daily_token_limit: (of) =>
    `За день можно создать не больше ${genitive(of.max, 'токена', 'токенов')}. Повторите завтра.`,
  sandbox_token_in_production: 'TURNPIKE_SANDBOX_TOKEN работает только в песочнице, а этот магазин рабочий.',
  balance_too_small: (of) =>
    `На балансе покупателя ${rub(of.balance_rub)} ₽, ${rub(of.amount_rub)} ₽ с него не списать.`,
  spending_cap_reached: (of) =>
    `Лимит расходов этого токена ${rub(of.cap_rub)} ₽, потрачено ${rub(of.spent_rub)} ₽. Цена больше остатка. ` +
    'Деньги не списаны; используйте другой токен.',
  balance_too_large: 'Баланс превысил бы допустимый максимум. Он не изменён.',
  customer_erased: 'Этот покупатель удалён: баланс больше никому не принадлежит. Он не изменён.',
  charge_not_found: 'Такого списания нет, возвращать нечего.',
  charge_already_refunded: (of) => `По этому списанию уже возвращено ${rub(of.given_rub)} ₽.`,
  operator_key_of_other_transaction: (of) => `Этим ключом уже проведена другая операция: ${of.seq}, ${of.customer}.`,
  refund_too_large: (of) => `Вернуть можно не больше того, что осталось от списания: ${rub(of.left_rub)} ₽.`,
  sign_in_failed: 'Логин, пароль или код неверны.',
  code_required: 'Введите код, который сейчас показывает приложение-аутентификатор.',
  too_many_attempts: 'Слишком много попыток. Подождите несколько минут и повторите.',
  too_many_sessions: 'Вы входили слишком часто. Подождите несколько минут; открытые сеансы продолжают работать.',
  sign_in_busy: 'Сейчас слишком много входов одновременно. Повторите через минуту.',
  session_invalid: 'Сеанс закончился. Войдите снова.',
  link_invalid: 'Ссылка недействительна: её уже открыли, она устарела или скопирована не полностью. Попросите новую.',
  link_outdated: 'После создания ссылки учётной записью уже пользовались. Попросите у продавца новую.',
  link_needs_owner:
    'Покупатель уже пользовался учётной записью (пароль, токен, сеанс или деньги), и у него нет адреса почты ' +
    'для ссылки. Обратитесь к владельцу магазина.',
  login_taken: 'Этот логин занят. Выберите другой.',
  password_missing: 'Сначала задайте пароль: второй фактор используется вместе с ним.',
  second_factor_exists: 'Второй фактор уже есть. Сначала выключите его.',
  second_factor_missing: 'Второй фактор не настроен, подтверждать нечего.',
  registration_closed: 'Регистрация закрыта. Обратитесь к продавцу.',
  mail_not_configured: 'Магазин не отправляет писем. Попросите у продавца ссылку для входа.',
  debt_left: (of) => `За вами долг ${rub(of.debt_rub)} ₽. Сначала погасите его или обратитесь к продавцу.`,
  balance_left: (of) => `На балансе ${rub(of.balance_rub)} ₽. Подтвердите, что отказываетесь от этих денег.`,
  subuser_login_taken: 'Этот логин занят. Выберите другой или оставьте поле пустым: логин будет создан автоматически.',
  subuser_limit: (of) => `Субпользователей может быть не больше ${of.max}. Сначала удалите одного.`,
  default_subuser_stays: 'Основного субпользователя удалить нельзя. Его можно заблокировать.',
  whitelist_full: (of) =>
    `В белом списке может быть не больше ${genitive(of.max, 'записи', 'записей')}. Сначала уберите одну.`,
  no_exit_usable: (of) => `Сейчас не работает ни один выход пула ${pool(of.pool)}. Деньги не списаны; повторите позже.`,
  address_in_stock: 'Этот адрес продаётся как выделенный прокси. Сначала снимите его с продажи.',
  address_in_block: (of) =>
    `Этот адрес из блока ${of.block}, который продаётся как выделенные прокси. Возьмите другой или сначала ` +
    'снимите блок с продажи.',
  traffic_order_not_found: 'Такой покупки трафика нет.',
  no_unused_traffic: 'Неиспользованного трафика у этого заказа не осталось.',
  no_traffic_to_move: (of) => `В пуле ${pool(of.pool)} нет свободного трафика, переносить нечего.`,
  traffic_refund_is_unused_part: 'При возврате трафика возвращается цена неиспользованной части, но не полная цена.',
  insufficient_traffic: (of) =>
    `Для этого нужно ${decimal(of.required_gb)} ГБ трафика, а свободно ${decimal(of.available_gb)} ГБ.`,
  traffic_limit: 'У субпользователя в одном пуле может быть не больше 8 000 000 ГБ.',
  open_payment_limit: (of) => `У вас уже открыто платежей: ${of.max}. Оплатите один или подождите, пока они истекут.`,
  refused_payment_limit: (of) =>
    `За час платёжная система отклонила платежей: ${of.max}. Подождите или выберите другой способ.`,
  payment_key_reused: (of) => `Этим ключом уже начат другой платёж, ${of.payment}.`,
  provider_refused: 'Платёжная система отклонила платёж. Попробуйте другой способ или сумму.',
  provider_silent: 'Платёжная система не отвечает. Повторите или выберите другой способ.',
  notification_not_authentic:
    'Подлинность уведомления не подтверждена: подпись или отправитель не соответствуют платёжной системе.',
  notice_limit: 'Слишком много необработанных уведомлений. Повторите позже.',
  provider_not_found: (of) => `Такой платёжной системы нет. Есть: ${of.known.join(', ')}.`,
  provider_not_configured: (of) => `Платёжная система ${of.name} не настроена.`,
  payment_not_manual: 'Оплату подтверждает сама платёжная система; вручную её отметить нельзя.',
  payment_is_other: (of) =>
    `Платёж ${of.payment} — это ${rub(of.amount_rub)} ₽ покупателя ${of.customer}. Ничего не зачислено. ` +
    'Зачислите эту сумму этому покупателю или укажите другой ключ и другой номер.',
  payment_not_paid: (of) =>
    `${of.provider} не подтверждает, что платёж ${of.payment} оплачен полностью. Ничего не зачислено. ` +
    'См. «turnpike payments show» и «turnpike payments unmatched».',
  payment_not_confirmed: (of) =>
    `${of.provider} не отвечает о платеже ${of.payment}. Ничего не зачислено. Повторите позже; магазин спрашивает ` +
    'и сам.',
  payment_not_credited: 'Этот платёж не зачислен.',
  provider_cannot_refund: (of) =>
    `Платёжная система ${of.provider} не поддерживает возврат через API. Выплатите деньги сами и спишите их с баланса.`,
  refund_exceeds_payment: (of) => `Из этого платежа можно вернуть ещё не больше ${rub(of.left_rub)} ₽.`,
  refund_under_way: (of) =>
    `На возврат ${rub(of.amount_rub)} ₽ по этому платежу ещё нет ответа, поэтому другой начать нельзя. ` +
    'Сначала повторите тот возврат: с его ключом либо без ключа и на ту же сумму.',
  referral_share_spent: (of) =>
    `Награда за приглашение (${of.referrer}) тоже списывается, но уже потрачена: она станет долгом. ` +
    'Подтвердите, если так и нужно (--into-debt, into_debt).',
  refund_refused_by_provider: 'Платёжная система отклонила возврат.',
  refund_without_answer:
    'Платёжная система не отвечает. Магазин запишет результат, когда она его сообщит; запрос можно повторить.',
  provider_list_unavailable: (of) =>
    `Платёжная система ${of.provider} не отвечает, сверка не удалась. Повторите позже.`,
  provider_list_refused: (of) =>
    `Платёжная система ${of.provider} не выдала список платежей. Проверьте, действует ли секрет.`,
  notice_without_amount: 'В этом уведомлении нет суммы в рублях. Зачислите деньги отдельно и закройте уведомление.',
  promo_code_attempts: 'Слишком много неверных кодов. Подождите несколько минут и повторите.',
  promo_code_exists: (of) => `Промокод ${of.code} уже есть. Использовать его повторно нельзя.`,
  referrer_already_set: 'У этого покупателя пригласивший уже указан.',
  referrer_is_customer: 'Покупатель не может пригласить сам себя.',
  referrer_is_newer: 'Пригласивший должен быть зарегистрирован раньше приглашённого.',
  held_price_limit: (of) =>
    `Открытых платежей с зафиксированной ценой уже ${of.max}. Оплатите один из них или сначала пополните баланс, ` +
    'потом купите.',
  held_amount_limit: (of) =>
    `Открытые платежи могут фиксировать цены в сумме до ${rub(of.max_rub)} ₽. Сначала пополните баланс, потом купите.`,
  erasure_not_confirmed: (of) =>
    `Удаление нельзя отменить. Покупатель потеряет: баланс ${rub(of.balance_rub)} ₽, прокси: ${of.proxies}, подписки ` +
    `VPN: ${of.vpn_subscriptions}, трафик: ${decimal(of.traffic_bytes / 1e9)} ГБ. Подтвердите удаление.`,
  erasure_with_open_payments: (of) =>
    `Незавершённых платежей: ${of.open_payments}. Их деньги останутся без владельца. Дождитесь оплаты или ` +
    'истечения срока.',
  history_differs: (of) =>
    `История строк контрольной точки ${of.checkpoint} не совпадает с её отпечатком, поэтому не стёрта. Выполните ` +
    '«turnpike verify»: удаление продолжится, когда сверка не найдёт ошибок.',
  no_port_free: 'Свободных портов шлюза нет. Используйте логин и пароль.',
  port_limit: (of) =>
    `У покупателя может быть не больше ${genitive(of.max, 'порта', 'портов')}, осталось ${of.free}. Запросите ` +
    'меньше или используйте логин и пароль.',
  node_name_taken: 'Узел с таким именем уже есть. Выберите другое имя.',
  node_name_local: (of) =>
    `По имени ${of.name} магазин находит узел своей машины. Для других узлов используйте другие имена.`,
  node_open: (of) => `Этот узел открыт и продолжит сообщать о трафике. Сначала закройте узел ${of.name}.`,
  node_has_exits: (of) =>
    `За этим шлюзом закреплены выходы (${of.count}). Передайте их другому шлюзу («turnpike exit assign») или ` +
    'удалите («turnpike exit remove»).',
  node_has_ranges: (of) =>
    `За этим шлюзом закреплены диапазоны (${of.count}). Сначала передайте их другому шлюзу: «turnpike stock assign» ` +
    'или «turnpike stock move».',
  node_has_proxies: (of) =>
    `У покупателей есть адреса (${of.count}), которые не обслуживает ни один другой шлюз. Перенесите их на другой ` +
    'шлюз или замените: «turnpike proxy replace».',
  node_closed: 'Этот узел закрыт. Сначала откройте его.',
  node_not_gateway: 'Входом и выходом может быть только шлюз. Это узел VPN.',
  node_not_entry: (of) =>
    `${of.name} не является входом. Сначала сделайте его входом: «turnpike node entry ${of.name}».`,
  node_is_entry: (of) =>
    `${of.name} является входом, а у входа нет своего входа. Сначала отмените это: «turnpike node entry ${of.name} ` +
    '--undo».',
  node_is_exit: (of) =>
    `Покупатели ${of.name} подключаются к другому шлюзу. Сначала отмените это: «turnpike node exit ${of.name}».`,
  entry_in_use: (of) =>
    `Здесь подключаются покупатели других шлюзов (${of.count}). Сначала назначьте им другой вход: ` +
    '«turnpike node exit».',
  invalid_join_key:
    'Ключ подключения недействителен: он неизвестен, истёк или уже использован. Новый: «turnpike node key NAME».',
  node_secret_invalid: 'Нужен секрет, полученный узлом при подключении. Этот секрет недействителен.',
  shop_url_missing: 'Сейчас это не продаётся: у магазина не настроен публичный адрес. Обратитесь к продавцу.',
  address_not_public: 'Частные, внутренние и служебные адреса продавать нельзя: покупатели не смогут ими пользоваться.',
  no_prices: 'У магазина ещё нет цен. Деньги не списаны; обратитесь к продавцу.',
  vpn_not_sold: 'VPN здесь не продаётся.',
  pool_not_sold: (of) => `Трафик пула ${pool(of.pool)} здесь не продаётся.`,
  ipv_not_sold: (of) => `Прокси типа ${ipv(of.ipv)} здесь не продаются.`,
  country_not_sold: (of) =>
    `Прокси типа ${ipv(of.ipv)} в стране ${of.country} здесь не продаются. Есть: ${of.allowed.join(', ')}.`,
  prices_invalid: (of) => `Этот прайс-лист применить нельзя. ${listProblems(problemsRu, of.problems)}`,
  address_not_found: 'Такого адреса в наличии нет. Все адреса показывает «turnpike stock list».',
  address_part_of_block: (of) => `Это часть блока ${of.block}, который закрывают только целиком.`,
  range_not_found: (of) => `В наличии нет адресов из ${of.prefix}. Их показывает «turnpike stock ranges».`,
  gateway_not_found: (of) => `Шлюза с именем ${of.name} нет. Все шлюзы — на странице «Сеть».`,
  addresses_being_added: 'Эти адреса сейчас добавляет другой импорт. Повторите, когда он завершится.',
  address_is_exit: 'Один из этих адресов — выход премиум-пула. Сначала выведите этот выход.',
  whitelist_limit: (of) =>
    `В белом списке прокси может быть не больше ${genitive(of.max, 'адреса', 'адресов')}. Ничего не изменено.`,
  https_missing:
    'По крайней мере один из прокси недоступен через TLS: он настроен на SOCKS5, или у его шлюза нет порта TLS. ' +
    'Выгрузите без `protocol` или не указывайте эти прокси.',
  whitelist_empty:
    'Строка без логина годится для прокси с адресом в белом списке, а у некоторых его нет. Сначала добавьте адрес.',
  replaced_recently: (of) => `Адрес этого прокси недавно меняли. Снова его можно заменить ${moment(of.again_at)}.`,
  proxy_expired: 'Срок этого прокси истёк. Сначала продлите его.',
  addresses_withdrawn: (of) =>
    `Адреса этих прокси выводятся, и продлить их нельзя: ${of.ids.join(', ')}. Сначала замените адреса или ` +
    'купите другие прокси. Деньги не списаны.',
  addresses_not_served: (of) =>
    `Срок этих прокси истёк, и сейчас их адреса не обслуживает ни один шлюз: ${of.ids.join(', ')}. ` +
    'Деньги не списаны; повторите позже.',
  proxy_not_renewable: 'Этот прокси сейчас не продлевается.',
  proxy_already_ended: 'Такого прокси нет, или он уже прекращён.',
  order_already_ended: 'Всё, что куплено этим заказом, уже прекращено. Ничего не возвращено.',
  order_prolonged_only:
    'Этим заказом прокси только продлены. Прекращайте их по одному или через заказ, которым они куплены.',
  prefix_not_in_stock: (of) => `В наличии нет адресов из ${of.prefix}. Их показывает «turnpike stock ranges».`,
  database_busy: 'Магазин перегружен. Ничего не изменено; повторите через минуту.',
  database_unavailable: (of) =>
    `${databaseProblems[of.problem]} Повторите запрос: с тем же Idempotency-Key он подействует не больше ` +
    'одного раза. Если ключа не было, сначала посмотрите свои заказы.',
  session_header_missing: (of) => `С сеансом нужен заголовок ${of.header}: 1.`,
  request_from_other_site: 'Запрос отправлен с другого сайта. Ничего не изменено.',
  request_from_other_origin: 'Запрос отправлен со страницы другого домена. Ничего не изменено.',
  token_missing: 'Передайте токен API: «Authorization: Bearer <токен>». В этом запросе его нет.',
  token_malformed:
    'Передайте токен API: «Authorization: Bearer <токен>». Эта строка не токен: проверьте, что он скопирован целиком.',
  token_unknown: 'Этот токен API здесь неизвестен. Проверьте, что он для этого магазина, или создайте другой.',
  token_ended: 'Этот токен API истёк или отозван. Создайте другой.',
  operator_token_missing:
    'Передайте токен оператора: «Authorization: Bearer tpo_…», или войдите. В этом запросе нет ни того, ни другого.',
  operator_token_malformed:
    'Передайте токен оператора: «Authorization: Bearer tpo_…». Эта строка не токен: проверьте, что он скопирован ' +
    'целиком.',
  operator_token_unknown:
    'Этот токен оператора здесь неизвестен. Проверьте, что он для этого магазина, или создайте другой.',
  operator_token_ended: 'Этот токен оператора истёк или отозван, или оператор удалён. Создайте другой.',
  insufficient_funds: (of) =>
    `Это стоит ${rub(of.required_rub)} ₽, а на балансе ${rub(of.balance_rub)} ₽. Деньги не списаны; пополните баланс ` +
    'и повторите.',
  insufficient_funds_with_debt: (of) =>
    `Это стоит ${rub(of.required_rub)} ₽, а за вами долг ${rub(of.debt_rub)} ₽: платёж отозван, когда деньги ` +
    'уже были потрачены. Пока долг не погашен, купить ничего нельзя. Деньги не списаны; пополните баланс и повторите.',
  order_cannot_be_ended: 'В этом заказе нет ничего, что можно прекратить досрочно.',
  notification_not_confirmed:
    'Не удалось подтвердить платёж: платёжная система не отвечает. Пришлите уведомление ещё раз позже.',
  refund_is_spent: (of) =>
    `${of.bonus_rub > 0 ? `Бонус ${rub(of.bonus_rub)} ₽ тоже списывается. ` : ''}На балансе только ` +
    `${rub(of.balance_rub)} ₽: остаток станет долгом. Подтвердите, если так и нужно (--into-debt, into_debt).`,
  price_changed: (of) =>
    `Теперь это стоит ${rub(of.price_rub)} ₽, а ваш предел ${rub(of.max_price_rub)} ₽. Деньги не списаны. ` +
    'Чтобы купить по этой цене, повторите запрос с большим max_price_rub.',
  out_of_stock: (of) =>
    `${of.available === 0 ? 'Свободных адресов сейчас нет.' : `Свободных адресов сейчас только ${of.available}.`} ` +
    'Деньги не списаны.',
  no_gateway_up: 'Сейчас не работает ни один шлюз с этими адресами. Деньги не списаны; повторите позже.',
  proxies_not_found: (of) => `Прокси ${of.ids.join(', ')} нет. Ничего не изменено.`,
  invalid_request: (of) => `В запросе ошибка. ${listProblems(problemsRu, of.problems)}`,
  here: (of) => of.text,
}
