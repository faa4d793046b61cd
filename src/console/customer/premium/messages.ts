import { type Format, messages, names, pair, phrase } from '../../shared/messages.tsx'
import { tradeMessages } from '../../shared/trade.ts'

export const premiumMessages = messages({
  title: pair('Premium proxies', 'Премиум-прокси'),
  about: pair(
    'Traffic through pools of addresses: you pay per gigabyte, not per address.',
    'Трафик через пулы адресов: вы платите за гигабайты, а не за адреса.',
  ),
  tabs: {
    '': pair('Traffic', 'Трафик'),
    generate: pair('Generator', 'Генератор'),
    access: pair('Access', 'Доступ'),
    usage: pair('Usage', 'Расход'),
    subusers: pair('Sub-users', 'Субпользователи'),
  },
  notSold: pair('Premium proxies are not sold here', 'Премиум-прокси здесь не продаются'),
  notSoldAbout: pair(
    'The price list of this shop has no pools of addresses.',
    'В прайс-листе этого магазина нет пулов адресов.',
  ),
  pools: pair(tradeMessages.en.pools, tradeMessages.ru.pools),
  left: pair('Left', 'Осталось'),
  ofBought: phrase('{used} of {bought} used', 'Израсходовано {used} из {bought}'),
  nothingBought: pair('Nothing bought yet', 'Пока не куплено'),
  exits: pair(
    (count: number, countries: number, format: Format) =>
      `${format.plural(count, 'exit', 'exits')} in ${format.plural(countries, 'country', 'countries')}`,
    (count, countries, format) =>
      `${format.plural(count, 'выход', 'выхода', 'выходов')} в ${format.plural(countries, 'стране', 'странах')}`,
  ),
  buy: pair('Buy traffic', 'Купить трафик'),
  amount: pair('Gigabytes', 'Гигабайты'),
  tiers: pair('The price per GB falls with the amount you buy', 'Чем больше объём покупки, тем ниже цена за ГБ'),
  from: pair('From', 'От'),
  perGb: pair('Price per GB', 'Цена за ГБ'),
  after: pair('Balance after', 'Останется на балансе'),
  saveMore: phrase(
    'With {missing} more the price is {price} per GB.',
    'Добавьте {missing}, и цена будет {price} за ГБ.',
  ),
  bought: phrase('Added {gb}. The pool now has {left}.', 'Добавлено {gb}. В пуле теперь {left}.'),
  another: pair('Buy more', 'Купить ещё'),
  getLine: pair('Get a connection line', 'Получить строку подключения'),
  generate: pair('Proxy list', 'Список прокси'),
  generateAbout: pair(
    'Proxy lines for your program. The login contains all settings, so you do not need to keep the list.',
    'Строки прокси для вашей программы. Все настройки записаны в логине, поэтому хранить список не нужно.',
  ),
  anyCity: pair('Any', 'Любой'),
  kind: pair('Address rotation', 'Смена адреса'),
  sticky: pair('Sticky', 'Закреплённый'),
  stickyAbout: pair('The same address for the length of the session', 'Один адрес на время сеанса'),
  rotating: pair('Rotating', 'Сменный'),
  rotatingAbout: pair('A new address for each connection', 'Новый адрес для каждого соединения'),
  minutes: pair('Session length, minutes', 'Длительность сеанса, минут'),
  quantity: pair('How many lines', 'Сколько строк'),
  formats: names({
    1: pair('host:port:login:password', 'хост:порт:логин:пароль'),
    2: pair('login:password@host:port', 'логин:пароль@хост:порт'),
    3: pair('host:port (whitelisted addresses)', 'хост:порт (белый список)'),
    4: pair('protocol://login:password@host:port', 'протокол://логин:пароль@хост:порт'),
    curl: 'curl',
  }),
  preview: pair('Preview', 'Предпросмотр'),
  browserHost: phrase(
    'In browsers, use the host {host} in place of the one in the lines.',
    'В браузерах укажите хост {host} вместо того, что в строках.',
  ),
  noBrowserHost: pair(
    'Browsers cannot use these lines, because there is no host name for browsers: take HTTP, or ask the seller for ' +
      'such a name.',
    'Браузеры не могут использовать эти строки: нет имени хоста для браузеров. Возьмите HTTP или попросите у ' +
      'продавца такое имя.',
  ),
  noTraffic: pair(
    'This pool has no traffic left. Its proxies do not connect until you buy more.',
    'В этом пуле закончился трафик. Прокси не подключатся, пока вы его не купите.',
  ),
  credentials: pair('Login and password', 'Логин и пароль'),
  newPasswordAbout: pair(
    'The old password stops working at once, and open connections are closed.',
    'Старый пароль сразу перестанет работать, открытые соединения закроются.',
  ),
  whitelistAbout: pair(
    'From these addresses, proxies in the host:port format work without a password.',
    'С этих адресов прокси в формате хост:порт работают без пароля.',
  ),
  whitelistNone: pair('The whitelist is empty.', 'Белый список пуст.'),
  lastUsed: pair('Last used', 'Использован'),
  remove: pair('Remove', 'Убрать'),
  limit: phrase('{used} of {limit}', '{used} из {limit}'),
  usage: pair('Traffic over time', 'Трафик по времени'),
  byHour: pair('2 days by hour', '2 дня по часам'),
  byDay: pair('30 days by day', '30 дней по дням'),
  sum: phrase('{gb} in total', 'Всего {gb}'),
  hosts: pair('Destination hosts', 'Посещённые хосты'),
  noUsage: pair('No traffic in this period', 'За этот период трафика не было'),
  noUsageAbout: pair(
    'Data appears within a minute of the first connection.',
    'Данные появляются в течение минуты после первого соединения.',
  ),
  noHosts: pair('No hosts recorded', 'Хосты не записаны'),
  noHostsAbout: pair(
    'Hosts appear here after you switch the recording on and send traffic. Content is never recorded.',
    'Хосты появятся здесь, когда вы включите запись и пойдёт трафик. Содержимое не записывается.',
  ),
  subuser: pair('Sub-user', 'Субпользователь'),
  subusers: pair('Sub-users', 'Субпользователи'),
  subusersAbout: pair(
    'Each sub-user has a separate login, password, whitelist, traffic and limits, for your customers or projects.',
    'У каждого субпользователя отдельные логин, пароль, белый список, трафик и лимиты: для ваших клиентов или ' +
      'проектов.',
  ),
  addSubuser: pair('Add a sub-user', 'Добавить'),
  ownLogin: pair('Login (generated if empty)', 'Логин (если не указать, будет создан)'),
  limits: {
    day_limit_bytes: pair('Daily limit, GB', 'Лимит в день, ГБ'),
    month_limit_bytes: pair('Monthly limit, GB', 'Лимит в месяц, ГБ'),
    total_limit_bytes: pair('Total limit, GB', 'Общий лимит, ГБ'),
  },
  within: {
    day_limit_bytes: phrase('{bytes} a day', '{bytes} в день'),
    month_limit_bytes: phrase('{bytes} a month', '{bytes} в месяц'),
    total_limit_bytes: phrase('{bytes} in all', '{bytes} всего'),
  },
  tunnels: pair('Maximum simultaneous connections', 'Максимум одновременных соединений'),
  withinTunnels: phrase('connections: {count}', 'соединений: {count}'),
  noLimits: pair('None', 'Нет'),
  keepHostsAbout: pair(
    'When it is on, the shop stores the host names that your traffic goes to, and their bytes. ' +
      'You and the operators of the shop can read them. Switching it off deletes them.',
    'Когда запись включена, магазин хранит имена хостов, к которым идёт ваш трафик, и объём. ' +
      'Их видите вы и операторы магазина. Выключение удаляет эти записи.',
  ),
  keepHosts: pair('Record destination hosts', 'Записывать посещённые хосты'),
  limitsTitle: pair('Limits', 'Лимиты'),
  changeLimits: pair('Name and limits', 'Имя и лимиты'),
  limitsAbout: pair('An empty field means no limit.', 'Пустое поле — без лимита.'),
  blockedAbout: pair('Proxies of this sub-user do not connect.', 'Прокси этого субпользователя не подключаются.'),
  blockAbout: pair(
    'Proxies of this sub-user stop within 2 seconds, until you unblock it.',
    'Прокси этого субпользователя остановятся в течение 2 секунд, пока вы его не разблокируете.',
  ),
  since: pair('Since', 'Создан'),
  main: pair('Main', 'Основной'),
  deleteSubuser: pair('Delete', 'Удалить'),
  deleteAbout: pair(
    'Its proxies stop at once. Its traffic moves to another sub-user.',
    'Его прокси сразу остановятся. Трафик перейдёт другому субпользователю.',
  ),
  heir: pair('Move traffic to', 'Кому передать трафик'),
  moveTraffic: pair('Move traffic', 'Перенести трафик'),
  moveAbout: pair('The transfer is free and is listed in the orders.', 'Перенос бесплатный и отображается в заказах.'),
  moveWay: pair('Direction', 'Направление'),
  moveFrom: phrase('From {name} to this one', '{name} → этому субпользователю'),
  moveTo: phrase('From this one to {name}', 'От этого субпользователя → {name}'),
  noTrafficYet: pair('This sub-user has no traffic yet.', 'У этого субпользователя пока нет трафика.'),
  used: pair('Used', 'Израсходовано'),
  everybody: pair('All sub-users', 'Все субпользователи'),
})
