import { docsPage } from '../program.ts'
import type { DoctorSentences, Pair, WayInStage } from './messages-en.ts'

const pair = (says: string, todo: string): Pair => ({ says, todo })

const spaceText = (of: { readonly free_bytes: number; readonly size_bytes: number }): string => {
  const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(1).replace('.', ',')
  return `свободно ${gigabytes(of.free_bytes)} ГБ из ${gigabytes(of.size_bytes)} ГБ`
}

const nameProxy = 'укажите адрес обратного прокси в TURNPIKE_TRUSTED_PROXIES'
const readLog = 'найдите в журнале "certificate not renewed": там причина, которую назвал центр сертификации'
const takeKey =
  'на магазине выполните "turnpike node key NAME", впишите напечатанное в TURNPIKE_NODE_KEY здесь и перезапустите узел'

const stageNames: Readonly<Record<WayInStage, string>> = {
  dns: 'DNS',
  tcp: 'TCP',
  certificate: 'сертификат TLS',
  protocol: 'протокол',
}
const stageAdvice: Readonly<Record<WayInStage, string>> = {
  dns: 'внесите имя в DNS или назовите другой адрес командой "turnpike node endpoint"',
  tcp: 'проверьте, что шлюз работает и что его сетевой экран и провайдер пропускают покупателей к порту',
  certificate: 'проверьте, что порт не занят другой программой, и обновите сертификат шлюза',
  protocol: 'выполните "turnpike doctor" на машине шлюза; для VPN с неё должен открываться и адрес TURNPIKE_PUBLIC_URL',
}

/** The Russian sentences of the doctor by reason. */
export const russianSentences: DoctorSentences = {
  disk_unknown: pair('система не сообщает, сколько места свободно', 'проверьте командой df'),
  disk_free: (of) => pair(spaceText(of), ''),
  disk_low: (of) =>
    pair(
      spaceText(of),
      'освободите место или перенесите папку на больший диск: при полном диске не проходит ни одна продажа',
    ),
  files_unknown: pair('система не сообщает предел', 'проверьте командой ulimit -n'),
  files_enough: (of) => pair(`не больше ${of.limit}; хватает на ${of.connections} соединений`, ''),
  files_few: (of) =>
    pair(
      `не больше ${of.limit}; хватает на ${of.fitting} соединений из ${of.connections} настроенных`,
      `увеличьте предел: LimitNOFILE=${of.needed} в юните или ulimit -n; или уменьшите TURNPIKE_GATEWAY_CONNECTIONS`,
    ),
  clock_differs: (of) =>
    pair(`расходятся с часами сервера базы данных на ${of.skew_ms} мс`, 'запустите клиент NTP на обеих машинах'),
  clock_unsynchronised: pair(
    'ядро сообщает, что их никто не синхронизирует',
    'запустите клиент NTP (chrony, systemd-timesyncd)',
  ),
  clock_unknown: pair('сбоев не замечено', ''),
  clock_agrees: pair('совпадают с часами сервера базы данных', ''),
  clock_differs_from_shop: (of) =>
    pair(
      `${of.seconds > 0 ? 'спешат' : 'отстают'} на ${Math.abs(of.seconds)} с относительно часов магазина`,
      'запустите клиент NTP на обеих машинах ("apt install chrony")',
    ),
  clock_behind_marks: (of) =>
    pair(
      `отметка последнего часа в базе на ${of.seconds} с впереди: эти часы или часы другого магазина неверны ` +
        'или были неверны',
      'запустите клиент NTP на машинах всех магазинов и переведите аппаратные часы на UTC ' +
        '("timedatectl set-local-rtc 0")',
    ),
  path_missing: pair('её нет', 'магазин создаст её при первом запуске'),
  path_owner: pair(
    'принадлежит другому пользователю',
    'назначьте владельцем (chown) пользователя, который запускает Turnpike',
  ),
  path_private: (of) => pair(`доступ только у владельца (${of.mode})`, ''),
  path_open: (of) => pair(`доступ есть у других пользователей (${of.mode})`, `chmod go= ${of.path}`),
  setting_unknown: (of) =>
    pair(`${of.name}: такой настройки нет, она не учтена`, 'настройки перечисляет "turnpike up --help"'),
  setting_removed: (of) => pair(`${of.name}: в этой версии такой настройки больше нет, она не учтена`, 'удалите её'),
  openssl_found: pair('OpenSSL 3 найден', ''),
  openssl_lacks: (of) =>
    pair(
      `${of.lack}; TLS обслуживает переносимый движок, он пересылает медленнее`,
      'установите OpenSSL 3: "apt-get install libssl3" (в Debian 13: libssl3t64)',
    ),
  setting_misspelt: (of) =>
    pair(`${of.name}: такой настройки нет, она не учтена`, `задайте ${of.meant}, если имелась в виду она`),
  import_unfinished: (of) =>
    pair(
      `добавление ${of.prefix}, начатое ${of.begun}, не закончено: создано мест: ${of.slots}, не продаётся ни одно`,
      'если "turnpike stock add" уже не работает, повторите эту команду; ' +
        'работающий магазин начнёт продавать созданные места через две минуты',
    ),
  database_went_back: (of) =>
    pair(
      `${of.noted} магазин обнаружил, что она вернулась в прошлое: ` +
        `изменения между ${of.back_to} и ${of.lost_until} потеряны`,
      'сверьте платежи за это время с провайдерами ("turnpike payments reconcile") и найдите ниже потерянные товары',
    ),
  goods_lost: (of) =>
    pair(
      `${of.node} обслуживал ${of.kind} ${of.login}${of.address === '' ? '' : ` с адресом ${of.address}`}, ` +
        `клиент: ${of.customer}; база данных его потеряла, и он больше не работает`,
      'дайте клиенту другой: "turnpike credit" и покупка; деньги за потерянный не списаны. ' +
        'Чтобы список больше не показывался: "turnpike node seen-lost"',
    ),
  goods_lost_more: (of) =>
    pair(
      `узлы сообщили и о других потерянных товарах: ${of.count}; они в таблице lost_goods`,
      'если база не возвращалась так далеко, узел лжёт: посмотрите "lost" в журнале и отзовите узел',
    ),
  node_awaits_state: (of) =>
    pair(
      `${of.name} не получил полное состояние с тех пор, как база вернулась в прошлое или была восстановлена: ` +
        'с него ничего не продаётся',
      'запустите узел и ищите "state not read" в его журнале',
    ),
  ranges_unproven: (of) =>
    pair(
      `${of.name} заявляет диапазоны без доказательства (${of.ranges}): на нём они не продаются`,
      `их перечисляет "turnpike node show ${of.name}"; назовите для каждого шлюз, к которому его маршрутизирует ` +
        'провайдер, доказательство тогда не нужно: "turnpike stock assign PREFIX --node GATEWAY"',
    ),
  postgres_wrong: (of) => pair('PostgreSQL настроен не для магазина', of.problems.join('; ')),
  postgres_readable: pair(
    'соединение с PostgreSQL идёт по сети без TLS: пароли и личные данные можно прочитать по пути',
    'включите ssl в postgresql.conf и укажите sslmode=verify-full или sslmode=require в TURNPIKE_DATABASE_URL',
  ),
  postgres_right: (of) => pair(`PostgreSQL ${of.version}, фиксация синхронная`, ''),
  replication_synchronous: (of) =>
    pair(
      `каждую фиксацию подтверждают реплики: ${of.confirming} из ${of.standbys}; наибольшее отставание ` +
        `${of.lag_megabytes} МБ`,
      '',
    ),
  replication_asynchronous: (of) =>
    pair(
      `фиксации не ждут реплик (подключено: ${of.standbys}, наибольшее отставание ${of.lag_megabytes} МБ): при ` +
        'переключении можно потерять покупки, на которые уже ответили',
      'задайте synchronous_standby_names, а в Patroni — synchronous_mode и synchronous_mode_strict',
    ),
  replication_blocked: pair(
    'фиксации ждут реплику, а ни одна не подключена: каждая покупка получает отказ 503',
    'запустите реплику и посмотрите её журнал; какие считаются, сказано в synchronous_standby_names',
  ),
  replication_hidden: (of) =>
    pair(
      `подключено реплик: ${of.standbys}, и роли магазина их состояние не видно`,
      'выполните от суперпользователя GRANT pg_monitor TO для роли магазина',
    ),
  commits_waiting: (of) =>
    pair(
      `сейчас ждут реплику фиксации: ${of.count}`,
      'если это не проходит, посмотрите реплики; не отменяйте фиксации: покупки в них могут потом пропасть',
    ),
  slot_unread: (of) =>
    pair(
      `слот репликации ${of.name} никто не читает, и он держит на диске ${of.megabytes} МБ журнала`,
      'запустите реплику этого слота или удалите его через pg_drop_replication_slot, пока диск не заполнился',
    ),
  sqlite: (of) => pair(`SQLite, ${of.megabytes} МБ`, ''),
  sqlite_journal: (of) =>
    pair(`SQLite, ${of.megabytes} МБ, журнал ${of.journal}`, 'журнал настроит следующий запуск магазина'),
  proxy_untrusted: pair(
    'запросы идут через прокси, которому магазин не доверяет: все покупатели считаются одним источником',
    nameProxy,
  ),
  proxy_trusted: pair('прокси перед магазином сообщает адреса покупателей', ''),
  proxy_likely: pair(
    'TLS заканчивается на другой программе перед магазином, и ни одному прокси не доверено сообщать адреса покупателей',
    nameProxy,
  ),
  node_closed: pair('закрыт', 'откройте его командой "turnpike node open" или оставьте закрытым'),
  node_not_joined: pair(
    'ещё не подключился',
    'выполните здесь "turnpike node key" с его именем, а на его машине — напечатанную команду',
  ),
  node_silent: (of) =>
    pair(
      `не сообщал о себе ${of.seconds} с`,
      'запустите его или закройте командой "turnpike node close" и перенесите его прокси и подписки на другой узел',
    ),
  node_stopping: pair(
    'остановлен, и на нём ничего не продаётся',
    'запустите его или закройте командой "turnpike node close"',
  ),
  node_behind: (of) =>
    pair(`отстаёт от состояния магазина на ${of.seconds} с`, 'найдите в его журнале "state not read"'),
  node_version: (of) =>
    pair(`версия ${of.version ?? 'неизвестна'}, у магазина ${of.shop}`, 'обновите его до версии магазина'),
  node_present: (of) => pair(`на связи, версия ${of.version}`, ''),
  node_unbilled: (of) =>
    pair(
      `за ${of.gigabytes} ГБ сверх канала не взята плата, последний раз — за минувшие сутки; ` +
        `сейчас канал ${of.megabits} Мбит/с`,
      `если его сеть быстрее, выполните «turnpike node link ${of.name} MBIT»; если нет, узел лжёт: чья это машина?`,
    ),
  node_link_full: (of) =>
    pair(
      `узел передаёт ${of.used} Мбит/с, а его канал — ${of.megabits} Мбит/с; за байты сверх канала плата не берётся`,
      `если его сеть быстрее, задайте канал: «turnpike node link ${of.name} MBIT»; если нет, добавьте шлюз`,
    ),
  nodes_none: pair('нет ни одного, поэтому ничего не продаётся', 'добавьте узел командой "turnpike node add NAME"'),
  backups_off: (of) =>
    pair(
      `TURNPIKE_BACKUP_FOLDER не задан, и "turnpike backup" за последние часы (${of.hours}) не записал ни одной`,
      'задайте TURNPIKE_BACKUP_FOLDER или запускайте "turnpike backup FOLDER" каждую ночь',
    ),
  backups_by_command: (of) => pair(`последняя записана командой в ${of.elsewhere}, возраст в часах: ${of.hours}`, ''),
  backups_elsewhere: (of) =>
    pair(
      `в ${of.folder} (TURNPIKE_BACKUP_FOLDER) нет копий по расписанию, или все они стары; последняя записана ` +
        `командой в ${of.elsewhere}, возраст в часах: ${of.hours}`,
      'первую магазин делает через минуту после запуска; если её нет, найдите в его журнале "back up"',
    ),
  backups_none: (of) =>
    pair(
      `в ${of.folder} (TURNPIKE_BACKUP_FOLDER) нет ни одной, и команда "turnpike backup" недавно не записала другой`,
      'первую магазин делает через минуту после запуска; если её нет, найдите в его журнале "back up"',
    ),
  backups_due: (of) =>
    pair(
      `в ${of.folder} пока нет ни одной: магазин только что запущен`,
      'повторите команду через две минуты; первую копию магазин делает через минуту после запуска',
    ),
  backups_denied: (of) =>
    pair(`нет прав на чтение ${of.path}`, `дайте их пользователю ${of.user} или запустите команду от root`),
  backups_old: (of) =>
    pair(`возраст последней в часах: ${of.hours}`, 'найдите в журнале магазина "job failed" с "back up"'),
  backups_fresh: (of) => pair(`возраст последней в часах: ${of.hours}`, ''),
  address_refuses: pair(
    'публичный адрес отказывает в соединении: его порт никто не слушает',
    'запустите магазин или программу перед ним и сверьте TURNPIKE_PUBLIC_URL с портом, который она слушает',
  ),
  certificate_unseen: (of) =>
    pair(
      `эта машина не смогла подключиться к его публичному адресу: ${of.error}`,
      'попробуйте с другой машины; за NAT это обычно',
    ),
  certificate_untrusted: (of) =>
    pair(`ему нет доверия: ${of.error}`, 'получите сертификат на это имя в известном центре'),
  certificate_ends: (of) => pair(`осталось дней: ${of.days}`, 'продлите его и выясните, почему он не продлился сам'),
  certificate_good: (of) => pair(`действует ещё дней: ${of.days}`, ''),
  file_wrong: (of) => pair(of.error, of.failures > 0 ? readLog : 'положите туда сертификат вместе с ключом'),
  file_ended: (of) => pair(`для ${of.names.join(', ')}, срок истёк`, of.failures > 0 ? readLog : 'замените его и ключ'),
  file_ends: (of) =>
    pair(`для ${of.names.join(', ')}, осталось дней: ${of.days}`, of.failures > 0 ? readLog : 'замените его и ключ'),
  file_not_renewed: (of) =>
    pair(`для ${of.names.join(', ')}, действует ещё дней: ${of.days}; неудачных продлений: ${of.failures}`, readLog),
  file_lacks_host: (of) =>
    pair(
      `в нём нет ${of.host} (TURNPIKE_GATEWAY_HOST), поэтому прокси https:// выдаются под другим его именем`,
      'добавьте имя в TURNPIKE_ACME_NAMES или в сертификат, пока то имя не перешло на другую машину',
    ),
  file_good: (of) => pair(`для ${of.names.join(', ')}, действует ещё дней: ${of.days}`, ''),
  port_ours: pair('там отвечает Turnpike', ''),
  port_taken: (of) =>
    pair(
      `на ${of.at} отвечает другая программа`,
      `какой — показывает "ss -ltnp": остановите её или задайте другой порт в ${of.setting}`,
    ),
  port_free: (of) =>
    pair(
      `${of.at} никто не слушает: эта роль не работает, или ${of.setting} в этой оболочке не тот, что у роли`,
      `выполните "systemctl start ${of.unit}" ("turnpike", если все роли в одном юните) и прочитайте журнал ` +
        `или задайте ${of.setting} как в настройках роли`,
    ),
  metrics_port_free: (of) =>
    pair('процесс работает, но не отдаёт метрики', `найдите "metrics not served" в "journalctl -u ${of.unit}"`),
  port_strange: (of) =>
    pair(
      `программа на ${of.at} отвечает не как Turnpike`,
      `какая — показывает "ss -ltnp": если это Turnpike, перезапустите его, иначе задайте другой порт в ${of.setting}`,
    ),
  listens_on_one: (of) =>
    pair(
      `слушает только ${of.address}: до прокси из ${of.prefix}, которые магазин на нём продаёт, покупатели не дойдут`,
      'задайте TURNPIKE_GATEWAY_LISTEN=:: (все адреса машины) и перезапустите шлюз ' +
        `или отдайте диапазон другому шлюзу: "turnpike stock assign ${of.prefix} --node NAME"`,
    ),
  name_found: (of) => pair(`адреса: ${of.addresses.join(', ')}`, ''),
  name_missing: pair('DNS его не знает', 'внесите его в DNS или проверьте /etc/resolv.conf этой машины'),
  wireguard_ready: pair('эта машина может быть узлом VPN', ''),
  wireguard_missing: (of) => pair(`не хватает: ${of.missing.join('; ')}`, of.how.join(' ')),
  role_none: (of) =>
    pair(
      `ни магазин, ни шлюз, ни узел VPN здесь не запускались: в ${of.folder} нет их данных`,
      'запустите что-нибудь ("turnpike up" или "systemctl enable --now" с юнитом) или укажите папку данных: --data',
    ),
  role_unstarted: (of) =>
    pair(`здесь ещё не запускался: в ${of.folder} нет его данных`, `выполните "systemctl enable --now ${of.unit}"`),
  shop_none: (of) =>
    pair(
      `в ${of.folder} нет базы, и TURNPIKE_DATABASE_URL не задан`,
      'запустите магазин ("systemctl enable --now turnpike-shop") или укажите его папку данных: --data',
    ),
  node_unjoined: pair('не подключён к магазину и не обслуживает покупателей', takeKey),
  link_answers: (of) => pair(`${of.url} отвечает и принимает этот узел`, ''),
  link_refused: (of) => pair(`${of.url} больше не знает этот узел, поэтому узел не обслуживает покупателей`, takeKey),
  link_broken: (of) =>
    pair(
      `магазин недоступен через ${of.url}: ${of.error}`,
      'проверьте, что магазин работает, его сертификат и сеть до него; адрес — в TURNPIKE_SHOP_URL',
    ),
  link_setting: (of) => pair(of.error, 'исправьте TURNPIKE_SHOP_URL'),
  dns_answers: (of) => pair(`${of.servers.join(', ')} отвечает`, ''),
  dns_fails: (of) =>
    pair(
      `${of.servers.join(', ')} не отвечает (${of.error}): по именам покупатели никуда не подключаются`,
      'исправьте серверы имён в /etc/resolv.conf или запустите местный; перезапускать шлюз не нужно',
    ),
  vpn_stopped: pair(
    'не работает, и ни одно устройство покупателя не подключится',
    'выполните "systemctl start turnpike-vpn-node" и прочитайте журнал',
  ),
  vpn_runs: (of) => pair(`работает, процесс ${of.pid}`, ''),
  prices_none: pair(
    'их нет, поэтому ничего нельзя купить',
    '"turnpike catalog show --shipped > prices.yaml" пишет список: впишите свои цены и запустите "turnpike catalog ' +
      'apply - < prices.yaml"',
  ),
  ranges_unserved: (of) =>
    pair(
      `ни один шлюз не обслуживает адреса ${of.prefix}${of.ranges > 1 ? ` (и ещё ${of.ranges - 1})` : ''}: ` +
        'они не продаются',
      [...of.reasons, 'причину для каждого диапазона показывает "turnpike stock ranges"'].join('; '),
    ),
  ranges_partly_served: (of) =>
    pair(
      `обслуживаются ${of.served} из ${of.slots} адресов; остальные не продаются`,
      'причины показывает "turnpike stock ranges"',
    ),
  ranges_served: (of) => pair(`обслуживаются все адреса: ${of.slots}`, ''),
  exits_down: (of) =>
    pair(
      `эти выходы не работают, и премиум-трафик через них не идёт: ${of.exits.join(', ')}`,
      'причины показывает "turnpike exit list"',
    ),
  exits_untried: (of) =>
    pair(`выходов, которые ещё не проверил ни один шлюз: ${of.exits}`, 'посмотрите через минуту: "turnpike exit list"'),
  path_up: pair('переход идёт по TLS, соединение есть', ''),
  path_down: (of) =>
    pair(
      `у входа нет соединения TLS с выходом: ${of.reason}`,
      'проверьте порт TLS выхода (TURNPIKE_GATEWAY_TLS_PORT), его адрес ("turnpike node endpoint") и межсетевой экран',
    ),
  path_unnamed: (of) =>
    pair(
      'соединение есть, но ссылки VPN не называют выход: в его сертификате нет имени, равного его адресу',
      `дайте выходу сертификат с его адресом${of.host && ` (${of.host})`} в subjectAltName и сверьте с ним ` +
        '"turnpike node endpoint"',
    ),
  path_unknown: pair('вход ещё не сообщил состояние этого пути', 'посмотрите через минуту: "turnpike node show"'),
  path_plain: pair(
    'переход идёт через открытый порт: выход не сообщил порт TLS',
    'задайте на выходе TURNPIKE_GATEWAY_TLS_PORT и сертификат',
  ),
  exits_up: (of) => pair(`работают все выходы: ${of.exits}`, ''),
  shop_closed: (of) => pair(`закрыт. ${of.because}`, of.way_out),
  shop_empty: pair('его база пуста', 'выполните "systemctl start turnpike-shop" или "turnpike shop"'),
  database_unopened: (of) => pair(`${of.address} не открывается`, of.error),
  database_moved: (of) =>
    pair(
      `файл ${of.path} перемещён или заменён под работающим магазином: магазин отклоняет все изменения`,
      `верните на место нужный файл и перезапустите магазин: см. ${docsPage('operate/incidents.md')}`,
    ),
  database_silent: pair(
    'не отвечает',
    'проверьте, что она работает, что адрес верен и что у неё есть свободное подключение',
  ),
  migrations_pending: (of) =>
    pair(`не применено миграций: ${of.count}`, 'запустите магазин или выполните "turnpike migrate"'),
  schema_wrong: (of) => pair(of.error, 'запустите версию, которой обновляли базу, или более новую'),
  schema_right: pair('соответствует этой версии', ''),
  key_wrong: (of) =>
    pair(
      of.error,
      'верните secret.key из резервной копии или задайте TURNPIKE_SECRET_KEY: без ключа нельзя показать ни один пароль',
    ),
  key_right: pair('это ключ этого магазина', ''),
  reach: (of) =>
    pair(
      `${of.setting} — ${of.host}, туда не попадёт ни один покупатель`,
      `задайте в ${of.setting} адрес для покупателей`,
    ),
  ways_in_work: (of) =>
    pair(`${of.ways.join(', ')} отсюда работают${of.off.length > 0 ? `; выключены: ${of.off.join(', ')}` : ''}`, ''),
  ways_in_fail: (of) =>
    pair(
      `${of.ways.join(', ')} не работают на ${of.at}, ${stageNames[of.stage]}: ${of.problem}`,
      stageAdvice[of.stage],
    ),
  registration_unconfirmed: pair(
    'магазин не отправляет писем: зарегистрироваться можно с любым адресом и узнать, какие уже заняты',
    'задайте TURNPIKE_SMTP_URL или регистрируйте покупателей сами (TURNPIKE_REGISTRATION=off)',
  ),
  history_behind: (of) =>
    pair(
      `контрольные точки не покрывают версии строк (${of.versions} или больше): их можно удалить без следа`,
      'выполните «turnpike checkpoint»; найдите в журнале «job failed» с «checkpoint» и поток изменений',
    ),
  checkpoints_inside: pair(
    'хранятся только в самой базе',
    `задайте TURNPIKE_CHECKPOINT_FILE или TURNPIKE_CHECKPOINT_URL: см. ${docsPage('operate/verify.md')}`,
  ),
}
