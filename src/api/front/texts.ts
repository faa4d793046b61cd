import type { StockLevel } from '../customer/catalogue/shapes.ts'
import type { AnswerLanguage } from '../language.ts'

type Text = Readonly<Record<AnswerLanguage, string>>

const pair = (en: string, ru: string): Text => ({ en, ru })

export const texts = {
  headline: pair('Proxies and VPN, ready in seconds', 'Прокси и VPN за несколько секунд'),
  introduction: pair(
    'Dedicated addresses, traffic over residential and mobile exits, and VPN for phones and computers. You pay for ' +
      'what you take, and everything works the moment it is paid.',
    'Выделенные адреса, трафик через домашние и мобильные выходы, VPN для телефонов и компьютеров. Вы платите только ' +
      'за то, что берёте, и всё работает сразу после оплаты.',
  ),
  description: pair(
    'Prices of proxies and VPN, stock by country, and a price calculator.',
    'Цены на прокси и VPN, наличие по странам и калькулятор цены.',
  ),
  skip: pair('Skip to the content', 'К содержанию'),
  menu: pair('Sections', 'Разделы'),
  signIn: pair('Sign in', 'Войти'),
  register: pair('Sign in or register', 'Войти или зарегистрироваться'),
  calculate: pair('Calculate a price', 'Рассчитать цену'),
  proxies: pair('Dedicated proxies', 'Выделенные прокси'),
  proxiesAbout: pair(
    'HTTP or SOCKS5, as you choose, without a limit on traffic. Price of one proxy for {days} days, from one piece.',
    'HTTP или SOCKS5 на выбор, без ограничения трафика. Цена одного прокси на {days} дней, от одной штуки.',
  ),
  country: pair('Country', 'Страна'),
  kind: pair('Type', 'Тип'),
  period: pair('Term', 'Срок'),
  count: pair('Number', 'Количество'),
  show: pair('Show the price', 'Показать цену'),
  calculator: pair('Price calculator', 'Калькулятор цены'),
  total: pair('Price', 'Цена'),
  each: pair('per proxy', 'за прокси'),
  instead: pair('instead of', 'вместо'),
  discount: pair('Discount', 'Скидка'),
  byCount: pair('{percent} % from {from} pieces', '{percent} % от {from} шт.'),
  byTerm: pair('{percent} % from {from} days', '{percent} % от {from} дней'),
  discounts: pair('Discounts', 'Скидки'),
  larger: pair('A larger order is never cheaper than a smaller one.', 'Больший заказ никогда не дешевле меньшего.'),
  premium: pair('Premium traffic', 'Премиум-трафик'),
  premiumAbout: pair(
    'Residential, mobile and datacenter exits by country, region, city or network. The price of a tier counts for ' +
      'the whole order.',
    'Резидентные, мобильные и датацентровые выходы с выбором страны, региона, города или сети. Цена ступени ' +
      'действует на весь заказ.',
  ),
  pool: pair('Pool', 'Пул'),
  fromGb: pair('from {from} GB', 'от {from} ГБ'),
  perGb: pair('per GB', 'за ГБ'),
  vpn: pair('VPN', 'VPN'),
  vpnAbout: pair(
    'One subscription for {devices} devices. Scan a code or press a button in your app.',
    'Одна подписка на {devices} устройств. Отсканируйте код или нажмите кнопку в приложении.',
  ),
  month: pair('{months} months', '{months} мес.'),
  oneMonth: pair('1 month', '1 месяц'),
  perMonth: pair('per month', 'в месяц'),
  unlimited: pair('Traffic is not limited', 'Трафик не ограничен'),
  traffic: pair('{gb} GB of traffic a month', '{gb} ГБ трафика в месяц'),
  locations: pair('Locations', 'Расположения'),
  protocols: pair('Protocols', 'Протоколы'),
  moreDevices: pair('One more device: {price}', 'Ещё одно устройство: {price}'),
  connect: pair('How to connect', 'Как подключиться'),
  pay: pair('How to pay', 'Как оплатить'),
  payAbout: pair('Choose a method at the payment.', 'Способ выбирается при оплате.'),
  fee: pair('fee {percent} %', 'комиссия {percent} %'),
  from: pair('from', 'от'),
  noMethod: pair('Ask the seller how to pay.', 'Как оплатить, спросите у продавца.'),
  questions: pair('Questions and answers', 'Вопросы и ответы'),
  contact: pair('Contact', 'Контакт'),
  terms: pair('Terms', 'Условия'),
  privacy: pair('Privacy', 'Конфиденциальность'),
  api: pair('API', 'API'),
  days: pair('{days} days', '{days} дн.'),
  other: pair('Русский', 'English'),
  back: pair('Back to the shop', 'Вернуться в магазин'),
  buy: pair('Buy', 'Купить'),
  gigabytes: pair('{gb} GB', '{gb} ГБ'),
  yourOrder: pair('Your order', 'Ваш заказ'),
  email: pair('E-mail address', 'Адрес почты'),
  emailHint: pair(
    'We send a link to it. The link opens your account, where you find what you buy.',
    'Мы отправим на него ссылку. Она откроет вашу учётную запись, в которой появится покупка.',
  ),
  method: pair('Payment method', 'Способ оплаты'),
  goOn: pair('Continue', 'Продолжить'),
  tooManyLetters: pair(
    'Letters were asked for too often from here or for this address. Open a letter that has come: its link opens ' +
      'your account, and you can order there. With an account you can sign in with your password.',
    'Письма запрашивали слишком часто отсюда или на этот адрес. Откройте письмо, которое уже пришло: его ссылка ' +
      'откроет вашу учётную запись, и заказать можно там. Если учётная запись есть, войдите с паролем.',
  ),
  sent: pair('Open the letter', 'Откройте письмо'),
  sentAbout: pair(
    'We have sent a link to {email}. Open it within a day to pay. Nothing is charged yet. If it does not come within ' +
      'some minutes, look into the spam folder or go back to the order and ask for another: a second letter buys ' +
      'nothing twice.',
    'Мы отправили ссылку на {email}. Откройте её в течение суток, чтобы оплатить. Пока ничего не списано. Если ' +
      'письма нет несколько минут, проверьте спам или вернитесь к заказу и запросите другое: второе письмо ничего не ' +
      'купит дважды.',
  ),
  confirm: pair('Continue your purchase', 'Продолжить покупку'),
  confirmAbout: pair(
    'The purchase goes to the account of {email}. Press the button to open it and to pay.',
    'Покупка появится в учётной записи {email}. Нажмите кнопку, чтобы открыть её и оплатить.',
  ),
  replaceAbout: pair(
    'In this browser you are signed in as {name}, but the link is for {email}. If you continue, you are signed in as ' +
      '{email}, and what you pay goes to that account.',
    'В этом браузере вы вошли как {name}, а ссылка — для {email}. Если продолжить, вы войдёте как {email}, и оплата ' +
      'поступит в ту учётную запись.',
  ),
  stay: pair('Stay signed in as {name}', 'Остаться как {name}'),
  priceNow: pair('The price has changed. Order again for the new one', 'Цена изменилась. Закажите заново по новой'),
  code: pair('Code of the second factor', 'Код второго фактора'),
  payNow: pair('Pay', 'Оплатить'),
  payNowAbout: pair(
    'You are signed in. As soon as the payment arrives, your purchase is in your account.',
    'Вы вошли. Как только придёт оплата, покупка появится в вашей учётной записи.',
  ),
  cleared: pair(
    'This address was not confirmed by a letter before. The account’s earlier password, second factor, sessions ' +
      'and API ' +
      'tokens no longer work. Set a new password with “Forgot your password?”.',
    'Раньше этот адрес не был подтверждён письмом. Прежние пароль, второй фактор, сеансы и токены API этой ' +
      'учётной записи больше не действуют. Задайте новый пароль по ссылке «Забыли пароль?».',
  ),
  paid: pair('This order is paid', 'Этот заказ оплачен'),
  over: pair('This payment is over. Begin again.', 'Этот платёж завершён. Начните заново.'),
  account: pair('Your account', 'Ваша учётная запись'),
  notDone: pair('This did not work', 'Не получилось'),
  again: pair('Back to the order', 'Вернуться к заказу'),
  notCharged: pair('Nothing was charged.', 'Ничего не списано.'),
} as const

export const stockTexts: Readonly<Record<StockLevel, Text>> = {
  available: pair('in stock', 'в наличии'),
  low: pair('few left', 'осталось мало'),
  none: pair('sold out', 'нет в наличии'),
}

/** VPN protocols as apps name them. */
export const protocolNames: Readonly<Record<string, string>> = {
  wireguard: 'WireGuard',
  vless: 'VLESS',
  xhttp: 'VLESS (XHTTP)',
  websocket: 'VLESS (WebSocket)',
  trojan: 'Trojan',
  http: 'HTTPS',
  naive: 'NaïveProxy',
  trusttunnel: 'TrustTunnel',
}

export const kindTexts: Readonly<Record<number, readonly [name: Text, about: Text]>> = {
  3: [pair('Shared IPv4', 'Общий IPv4'), pair('an address for up to three customers', 'адрес на трёх покупателей')],
  4: [pair('Private IPv4', 'Выделенный IPv4'), pair('an address for you alone', 'адрес только для вас')],
  6: [pair('IPv6', 'IPv6'), pair('an IPv6 address for you alone', 'адрес IPv6 только для вас')],
}

export const poolTexts: Readonly<Record<string, Text>> = {
  residential: pair('Residential', 'Резидентные'),
  residential_premium: pair('Residential premium', 'Резидентные премиум'),
  datacenter: pair('Datacenter', 'Датацентр'),
  mobile: pair('Mobile', 'Мобильные'),
}

/** Ways to pay by their names in the API. */
export const methodTexts: Readonly<Record<string, Text>> = {
  sandbox: pair('Sandbox', 'Песочница'),
  card: pair('Card', 'Банковская карта'),
  sbp: pair('SBP', 'СБП'),
  platega_card: pair('Card', 'Банковская карта'),
  platega_sbp: pair('SBP', 'СБП'),
  platega_crypto: pair('Cryptocurrency', 'Криптовалюта'),
  crypto: pair('Cryptocurrency', 'Криптовалюта'),
  transfer: pair('Bank transfer', 'Банковский перевод'),
  cash: pair('Cash', 'Наличные'),
}

/** Each way to connect: its drawing, its name and a sentence. */
export const ways = [
  {
    drawing: 'program',
    name: pair('Browsers and programs', 'Браузеры и программы'),
    about: pair(
      'Enter host, port, login and password. A proxy is HTTP or SOCKS5, as you choose; UDP goes over SOCKS5.',
      'Укажите адрес, порт, логин и пароль. Прокси — HTTP или SOCKS5 на выбор, UDP идёт через SOCKS5.',
    ),
  },
  {
    drawing: 'tls',
    name: pair('Filtered networks', 'Сети с фильтрами'),
    about: pair(
      'An HTTPS proxy looks like any other site, and your traffic cannot be read on the way.',
      'Прокси по HTTPS выглядит как обычный сайт, и по дороге трафик никто не читает.',
    ),
  },
  {
    drawing: 'phone',
    name: pair('Phones and computers', 'Телефоны и компьютеры'),
    about: pair(
      'For VPN scan the code of your subscription. The app takes all settings by itself.',
      'Для VPN отсканируйте код подписки. Приложение возьмёт все настройки само.',
    ),
  },
  {
    drawing: 'api',
    name: pair('Your own programs', 'Ваши программы'),
    about: pair(
      'Everything can be bought and managed by the API, with safe repeats and webhooks.',
      'Всё можно купить и настроить через API, с безопасным повтором и вебхуками.',
    ),
  },
] as const

/** Questions of a shop whose operator has written none. */
export const usualQuestions: readonly (readonly [question: Text, answer: Text])[] = [
  [
    pair('When does a purchase work?', 'Когда покупка начинает работать?'),
    pair('At once. You see the login and password on the page.', 'Сразу. Логин и пароль вы видите на странице.'),
  ],
  [
    pair('What happens at the end of the term?', 'Что будет в конце срока?'),
    pair(
      'A proxy can be prolonged with the same address and login, also by itself. Otherwise it stops to the second.',
      'Прокси можно продлить с тем же адресом и логином, в том числе автоматически. Иначе он останавливается.',
    ),
  ],
  [
    pair('May I change the address?', 'Можно ли сменить адрес?'),
    pair('Yes, replace a proxy in the console.', 'Да, замените прокси в консоли.'),
  ],
  [
    pair('How is traffic counted?', 'Как считается трафик?'),
    pair('1 GB is 10^9 bytes, in both directions.', '1 ГБ — это 10^9 байт, в обе стороны.'),
  ],
]
