import { leavingMessages } from './leaving-ru.ts'
import { paymentMessages } from './payments-ru.ts'
import { tokenMessages } from './tokens-ru.ts'
import type { Said } from './translate.ts'

/** What the shop says when it refuses, and the same in Russian. `{}` stands for whatever varies. */
export const messages: readonly Said[] = [
  ['Sign in: there is no session, or it has ended.', 'Войдите: сеанса нет, или он закончился.'],
  ['Login, password or code is wrong.', 'Логин, пароль или код неверны.'],
  ['Give the code that your second factor shows now.', 'Введите код, который сейчас показывает ваше приложение.'],
  [
    'This costs {} RUB and the balance is {} RUB. Top up and try again.',
    'Это стоит {} ₽, а на балансе {} ₽. Пополните его и повторите.',
  ],
  [
    'The customer’s balance is {} RUB, so {} RUB cannot be taken from it.',
    'На балансе клиента {} ₽, {} ₽ с него не списать.',
  ],
  [
    'This costs {} RUB, and you owe {} RUB: a payment was taken back after its money was spent. Nothing can ' +
      'be bought before that is paid. Top up and try again.',
    'Это стоит {} ₽, а за вами долг {} ₽: платёж отозван, когда деньги уже были потрачены. Пока долг не ' +
      'погашен, купить ничего нельзя. Пополните баланс и повторите.',
  ],
  [
    'An operator who looks at a customer’s pages cannot change or export anything there.',
    'Оператор, который смотрит страницы покупателя, не может там ничего изменить или выгрузить.',
  ],
  [
    'This customer has a password or a token, and no e-mail address for the link. Ask an owner of the shop.',
    'У этого покупателя есть пароль или токен и нет адреса почты для ссылки. Обратитесь к владельцу магазина.',
  ],
  [
    'Sign in for this: a token may not do it, whatever its scopes are.',
    'Для этого нужно войти: с токеном этого нельзя, какие бы права у него ни были.',
  ],
  ['This customer is blocked. Ask the operator.', 'Этот покупатель заблокирован. Обратитесь к оператору.'],
  ['This needs the role "{}", and yours is "{}".', 'Для этого нужна роль «{}», а у вас «{}».'],
  ['This operator was removed.', 'Этот оператор удалён.'],
  [
    'This shop does not take new customers by itself. Ask the operator.',
    'Магазин не регистрирует покупателей сам. Обратитесь к оператору.',
  ],
  ['This token lacks the scope "{}".', 'У этого токена нет права «{}».'],
  ['This token may not be used from this address.', 'С этого адреса токеном пользоваться нельзя.'],
  [
    'This token may spend {} RUB in all and has spent {} RUB. Use another token.',
    'Этот токен может потратить всего {} ₽ и потратил {} ₽. Возьмите другой.',
  ],
  ['This was sent by another site.', 'Запрос прислал другой сайт.'],
  ['This was sent by a page of another origin.', 'Запрос прислала страница с другого адреса.'],
  ['This is not known to come from the provider.', 'Неизвестно, что это прислал платёжный сервис.'],
  ['There is no such order.', 'Такого заказа нет.'],
  ['There is no such payment.', 'Такого платежа нет.'],
  ['There is no such token.', 'Такого токена нет.'],
  ['There is no such session.', 'Такого сеанса нет.'],
  ['There is no such customer.', 'Такого покупателя нет.'],
  ['There is no such operator.', 'Такого оператора нет.'],
  ['There is no such node.', 'Такого узла нет.'],
  ['There is no such exit.', 'Такого выхода нет.'],
  ['There is no such proxy.', 'Такого прокси нет.'],
  ['There is no such proxy, or not any more.', 'Такого прокси нет, или уже нет.'],
  ['There is no such sub-user.', 'Такого субпользователя нет.'],
  ['There is no such subscription.', 'Такой подписки нет.'],
  ['There is no such VPN subscription.', 'Такой подписки VPN нет.'],
  ['There is no such VPN device.', 'Такого устройства VPN нет.'],
  ['There is no such price list.', 'Такого списка цен нет.'],
  ['There is no such address in stock.', 'Такого адреса в наличии нет.'],
  ['There is no such charge to refund.', 'Такого списания нет, возвращать нечего.'],
  ['There is no such code, or it has ended already.', 'Такого промокода нет, или он уже закончился.'],
  ['There is no such notice, or it was dealt with already.', 'Такого уведомления нет, или с ним уже разобрались.'],
  ['There is no such purchase of traffic.', 'Такой покупки трафика нет.'],
  ['There is no such payment provider. There are: {}.', 'Такого платёжного сервиса нет. Есть: {}.'],
  ['There is no such file. Load the page anew.', 'Такого файла нет. Загрузите страницу заново.'],
  ['There is no open VPN node of this name.', 'Открытого узла VPN с таким именем нет.'],
  [
    'There is no gateway called {}. "turnpike node list" shows them.',
    'Шлюза с именем {} нет. Все они на странице «Сеть».',
  ],
  ['There is no proxy {}. Nothing was changed.', 'Прокси {} нет. Ничего не изменено.'],
  ['There are no proxies {}. Nothing was changed.', 'Прокси {} нет. Ничего не изменено.'],
  [
    'There is nothing at this path. See /docs for what there is.',
    'По этому пути ничего нет. Что есть, сказано в /docs.',
  ],
  ['Nothing in stock is within {}.', 'В диапазоне {} ничего нашего нет.'],
  ['Nothing of {} is in stock.', 'Из {} в наличии ничего нет.'],
  [
    'This link does not work: it was used, is too old, or never was one.',
    'Ссылка не действует: её уже открыли, она устарела или её не было.',
  ],
  ['This subscription has no device. Add one with POST /vpn/devices.', 'У этой подписки нет устройств. Добавьте одно.'],
  ['{} is not set up. See "turnpike payments provider set --help".', '{} не настроен.'],
  [
    'A proxy with ipv {} in {} is not for sale here. There are {}.',
    'Прокси IPv{} в стране {} здесь не продаются. Есть: {}.',
  ],
  ['{} is not for sale here. There are {}.', '{}: здесь не продаётся. Есть: {}.'],
  ['{} is not for sale here.', '{}: здесь не продаётся.'],
  [
    'No port is free for this. Use a login and a password.',
    'Свободных портов для этого нет. Используйте логин и пароль.',
  ],
  ['None are free here now. Nothing was charged.', 'Сейчас здесь нет свободных.'],
  ['Only {} are free here now. Nothing was charged.', 'Сейчас здесь свободно только {}.'],
  [
    'A request with this Idempotency-Key is still running. Repeat it in a moment to get its answer.',
    'Этот же запрос ещё выполняется. Повторите через минуту, и придёт его ответ.',
  ],
  [
    'This Idempotency-Key was used for a different payment, {}. Repeat that one exactly to get its answer ' +
      'again, or use a new key for a new payment.',
    'Этим ключом уже начат другой платёж, {}.',
  ],
  [
    'This Idempotency-Key was used for a different request, {}. Repeat that one exactly to get its answer ' +
      'again, or use a new key for a new purchase.',
    'Этим ключом уже сделан другой запрос, {}.',
  ],
  [
    'This key has moved something else: it is transaction {} of {}. Take another key.',
    'Этим ключом уже проведена другая операция: {}, {}.',
  ],
  ['A comparison is running. Ask GET /payment-reconciliation how it goes.', 'Сверка платежей уже идёт.'],
  ['A verification is running. Ask GET /verify how it goes.', 'Сверка уже идёт.'],
  ['A customer has at most {} VPN subscriptions.', 'У покупателя может быть не больше {} подписок VPN.'],
  [
    'A customer may have {} sub-users. Delete one first.',
    'Субпользователей может быть не больше {}. Сначала удалите одного.',
  ],
  [
    'A customer may hold {} ports, and {} are left. Ask for fewer, or use a login and a password.',
    'У покупателя может быть {} портов, осталось {}. Попросите меньше или используйте логин и пароль.',
  ],
  [
    'A device of this subscription was asked for in {}, and that node stands in {}.',
    'Устройство этой подписки заказано в {}, а узел стоит в {}.',
  ],
  [
    'A line without a login is for proxies with a whitelisted address, and some have none. Whitelist one first.',
    'Строка без логина годится для прокси с адресом в белом списке, а у некоторых его нет. Сначала добавьте ' +
      'адрес.',
  ],
  [
    'A proxy may have {} addresses that need no password. Nothing was changed.',
    'Адресов без пароля у прокси может быть не больше {}. Ничего не изменено.',
  ],
  [
    'A refund is at most what is left of the charge: {} RUB.',
    'Вернуть можно не больше того, что осталось от списания: {} ₽.',
  ],
  [
    'A sub-user cannot hold more traffic than 8,000,000 GB in a pool.',
    'У субпользователя в одном пуле может быть не больше 8 000 000 ГБ.',
  ],
  ['A subscription cannot be paid more than {} years ahead.', 'Подписку нельзя оплатить больше чем на {} лет вперёд.'],
  [
    'A customer has at most {} open tokens. Revoke one first.',
    'Открытых токенов может быть не больше {}. Сначала отзовите один.',
  ],
  [
    'Too many codes that are none. Wait a few minutes and try again.',
    'Слишком много неверных кодов. Подождите несколько минут и повторите.',
  ],
  [
    'At most {} tokens can be made in a day. Try again tomorrow.',
    'За день можно создать не больше {} токенов. Повторите завтра.',
  ],
  [
    'A whitelist holds {} entries. Remove one first.',
    'В белом списке может быть не больше {} записей. Сначала уберите одну.',
  ],
  [
    'All that this order has bought has ended already. Nothing was given back now.',
    'Всё, что куплено этим заказом, уже закончилось. Сейчас ничего не возвращено.',
  ],
  [
    'An address of these is an exit of a premium pool. Drain that exit first: "turnpike exit list" shows them.',
    'Один из этих адресов — выход премиум-пула. Сначала выведите этот выход.',
  ],
  ['At most {} RUB of this payment can still be given back.', 'Из этого платежа можно вернуть ещё не больше {} ₽.'],
  [
    'At most {} devices can be added in a day. Try again tomorrow.',
    'За день можно добавить не больше {} устройств. Повторите завтра.',
  ],
  [
    'Ending a subscription gives back what is unused of it, as its customer could.',
    'При прекращении подписки возвращается неиспользованное, как и самому покупателю.',
  ],
  ['None of the traffic of this order is left and free.', 'От трафика этого заказа свободного не осталось.'],
  [
    'Private, loopback and reserved addresses are not stock in production: nobody elsewhere could use them.',
    'Частные, внутренние и служебные адреса не продают: ими никто снаружи не воспользуется.',
  ],
  [
    'Set a password first: without one there is nothing a second factor could add to.',
    'Сначала задайте пароль: без него второму фактору нечего дополнять.',
  ],
  ['Somebody else has this login. Choose another one.', 'Этот логин занят. Выберите другой.'],
  ['Nobody brings himself.', 'Самого себя привести нельзя.'],
  ['Somebody has brought this customer already.', 'Этого покупателя уже кто-то привёл.'],
  [
    'TURNPIKE_SANDBOX_TOKEN is for a sandbox, and this shop is in production.',
    'TURNPIKE_SANDBOX_TOKEN только для песочницы, а этот магазин настоящий.',
  ],
  [
    'The addresses of these proxies are being withdrawn and cannot be had for longer: {}. Replace them first, ' +
      'or buy others. Nothing was charged.',
    'Адреса этих прокси выводятся, и продлить их нельзя: {}. Сначала замените адреса или купите другие прокси.',
  ],
  [
    'The balance is only {} RUB: the rest would be a debt. Say so if that is meant (--into-debt, into_debt).',
    'На балансе только {} ₽: остальное стало бы долгом. Если так и надо, отметьте это.',
  ],
  ['The balance would be larger than the ledger holds.', 'Баланс стал бы больше, чем вмещает учёт.'],
  [
    'The default sub-user cannot be deleted. Block it instead.',
    'Основного субпользователя удалить нельзя. Его можно заблокировать.',
  ],
  [
    'The provider itself says whether this payment was made; it is not marked by hand.',
    'Оплачен ли этот платёж, говорит сам платёжный сервис; вручную он не отмечается.',
  ],
  [
    'There are {} RUB on the balance. Say give_up_balance: true to leave them behind.',
    'На балансе {} ₽. Отметьте, что отказываетесь от них.',
  ],
  [
    'There is a code {} already. Codes are never used for something else.',
    'Промокод {} уже есть. Промокоды не используют заново.',
  ],
  ['There is a node of this name already.', 'Узел с таким именем уже есть.'],
  ['There is a second factor already. Remove it first.', 'Второй фактор уже есть. Сначала выключите его.'],
  ['There is an operator called "{}" already.', 'Оператор «{}» уже есть.'],
  ['There is no free traffic in {} to move.', 'В пуле {} нет свободного трафика, переносить нечего.'],
  ['There is no second factor to confirm.', 'Подтверждать нечего: второй фактор не настраивали.'],
  [
    'This --key was used for something else. Use a new one for a new action.',
    'Этот ключ уже использован для другого. Для нового действия нужен новый.',
  ],
  [
    'This address is in stock as a dedicated proxy. Retire it there first: "turnpike stock retire".',
    'Этот адрес продаётся как выделенный прокси. Сначала снимите его с продажи.',
  ],
  [
    'This address is in the block {}, which is sold as dedicated proxies. Take one outside of it, or retire ' +
      'the block first: "turnpike stock retire".',
    'Этот адрес из блока {}, который продаётся как выделенные прокси. Возьмите другой или сначала снимите ' +
      'блок с продажи.',
  ],
  ['This charge has been refunded already: {} RUB.', 'По этому списанию уже возвращено {} ₽.'],
  [
    'This is a part of the block {}, which is closed as a whole or not at all.',
    'Это часть блока {}, который закрывают только целиком.',
  ],
  ['This is the last owner. Make another one first.', 'Это последний владелец. Сначала назначьте другого.'],
  [
    'This login is taken. Choose another, or leave it out to get one.',
    'Этот логин занят. Выберите другой или оставьте пустым, и он будет придуман.',
  ],
  ['This node is closed. Open it first, with "turnpike node open".', 'Этот узел закрыт. Сначала откройте его.'],
  [
    'This node is open and would go on to claim. Shut it out first: "turnpike node close {}", or "node revoke".',
    'Этот узел открыт и продолжит присылать счёт. Сначала закройте узел {}.',
  ],
  [
    'This notice names no amount in roubles. Credit the customer by itself, then resolve it.',
    'В уведомлении нет суммы в рублях. Пополните баланс покупателя сами и закройте уведомление.',
  ],
  [
    'This order has prolonged proxies and bought none. End them one by one, or with the order that bought them.',
    'Этот заказ продлил прокси и не купил ни одного. Прекращайте их по одному или тем заказом, которым они ' +
      'куплены.',
  ],
  ['This payment has not been credited.', 'Этот платёж не зачислен.'],
  ['This proxy has expired. Prolong it first.', 'Этот прокси истёк. Сначала продлите его.'],
  ['This proxy is not to be renewed now.', 'Этот прокси сейчас не продлевается.'],
  [
    "This proxy's address was replaced lately. It can be replaced again at {}.",
    'Адрес этого прокси недавно меняли. Снова его можно заменить {}.',
  ],
  [
    'This public key is in use. Give each device a key of its own.',
    'Этот ключ уже используется. У каждого устройства должен быть свой.',
  ],
  [
    'This shop sends no mail. Ask the operator for a link to sign in with.',
    'Магазин не шлёт писем. Попросите у оператора ссылку для входа.',
  ],
  [
    'This subscription has all of its {} devices. Remove one first.',
    'У подписки уже все её устройства: {}. Сначала уберите одно.',
  ],
  ['This subscription is disabled. Ask the operator.', 'Эта подписка отключена. Обратитесь к оператору.'],
  ['This subscription is not due for renewal any more.', 'Продлевать эту подписку уже не нужно.'],
  ['This subscription is {}, so no device can be added.', 'Состояние подписки: {}; добавить устройство нельзя.'],
  ['This takes {} GB of traffic and {} GB are free.', 'Для этого нужно {} ГБ трафика, а свободно {} ГБ.'],
  [
    'Traffic is taken back as far as it is unused, for that part of its price.',
    'Трафик возвращают, насколько он не израсходован, за эту часть цены.',
  ],
  ['Whoever brings a customer was a customer before.', 'Привести покупателя может тот, кто стал покупателем раньше.'],
  [
    'You have {} payments open already. Pay one, or wait until they expire.',
    'У вас уже открыто платежей: {}. Оплатите один или подождите, пока они истекут.',
  ],
  [
    '{} gives no money back by itself. Pay it out yourself and debit it.',
    '{} сам денег не возвращает. Выплатите их сами и удержите с баланса.',
  ],
  [
    'Somebody else is adding these addresses. Give the command again when he is done.',
    'Эти адреса сейчас добавляет кто-то другой. Повторите, когда он закончит.',
  ],
  [
    'Too many attempts. Wait a few minutes and try again.',
    'Слишком много попыток. Подождите несколько минут и повторите.',
  ],
  [
    'You have signed in too often. Wait a few minutes; sessions that are open go on.',
    'Вы входили слишком часто. Подождите несколько минут; открытые сеансы продолжают работать.',
  ],
  ['Too many requests. Wait as long as Retry-After says.', 'Слишком много запросов. Подождите минуту и повторите.'],
  ['No VPN address is free at the moment. Nothing was charged.', 'Сейчас нет свободных адресов VPN.'],
  [
    'No gateway that has them is up at the moment. Nothing was charged; try again later.',
    'Шлюз, у которого они есть, сейчас не работает. Повторите позже.',
  ],
  [
    'No VPN node is up at the moment. Nothing was charged; try again later.',
    'Сейчас не работает ни один узел VPN. Повторите позже.',
  ],
  [
    'No exit of {} can be used at the moment. Nothing was charged; try again later.',
    'Сейчас не работает ни один выход пула {}. Повторите позже.',
  ],
  ['The shop has no prices yet. Nothing was charged.', 'У магазина ещё нет цен.'],
  [
    'The shop is shutting down. Nothing was changed; try again in a moment.',
    'Магазин перезапускается. Ничего не изменено; повторите через минуту.',
  ],
  [
    'These proxies have ended and no gateway serves their addresses at the moment: {}. Nothing was charged; ' +
      'try again later.',
    'Эти прокси закончились, и сейчас их адреса не обслуживает ни один шлюз: {}. Повторите позже.',
  ],
  [
    'This cannot be sold now: the shop is not set up to be reached from elsewhere. Ask the operator.',
    'Сейчас это не продаётся: магазин не настроен для доступа снаружи. Обратитесь к оператору.',
  ],
  [
    'Too many people sign in at this moment. Try again in a moment.',
    'Сейчас входит слишком много людей. Повторите через минуту.',
  ],
  [
    'Too much waits for the operator already. Send it again later.',
    'Слишком многое уже ждёт оператора. Повторите позже.',
  ],
  [
    'Something went wrong on our side. Quote the X-Request-Id when you ask us.',
    'Что-то сломалось у нас. Обращаясь к нам, назовите номер запроса.',
  ],
  ['A request body is at most {} KiB.', 'Запрос может быть не больше {} КиБ.'],
  ['Send the body as JSON with Content-Type: application/json.', 'Тело запроса должно быть в JSON.'],
  [
    'Send the body as it is or with Content-Encoding: gzip.',
    'Тело запроса должно быть без сжатия или с Content-Encoding: gzip.',
  ],
  [
    'The connection closed before the answer. Nothing was changed.',
    'Соединение закрылось до ответа. Ничего не изменилось.',
  ],
  ['Use {} here.', 'Здесь нужен метод {}.'],
  [
    'A name is 1 to 64 letters, digits, dots, dashes and underscores, and not "tool".',
    'Имя: от 1 до 64 букв, цифр, точек, дефисов и подчёркиваний, и не «tool».',
  ],
  ['With end, what is given back is not said.', 'Если купленное прекращается, сумму возврата не указывают.'],
  ['The catalogue cannot be applied. {}', 'Этот список цен применить нельзя. {}'],
  [
    'This key lets no node in: it is unknown, expired or used. "turnpike node key" makes a new one.',
    'Этот ключ не впускает узел: он неизвестен, истёк или использован.',
  ],
  [
    'Send the secret that this node has joined with as "Authorization: Bearer <secret>". This one opens nothing.',
    'Нужен секрет, с которым узел подключился. Этот ничего не открывает.',
  ],
  ['It is in a state that forbids this.', 'Сейчас это невозможно.'],
  ['No such thing, or it is not yours.', 'Этого нет, или оно не ваше.'],
  ['A fault of a supplier.', 'Сбой у поставщика.'],
  ['Fewer are free than were asked for.', 'Столько свободных нет.'],
  ...leavingMessages,
  ...paymentMessages,
  ...tokenMessages,
]
