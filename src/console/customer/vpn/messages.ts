import type { Format } from '../../shared/format.ts'
import { messages, names, pair, phrase } from '../../shared/messages.ts'

export const vpnMessages = messages({
  title: 'VPN',
  about: pair(
    'WireGuard for your phone and computer: scan a code, and everything goes through it.',
    'WireGuard для телефона и компьютера: отсканируйте код, и всё пойдёт через него.',
  ),
  none: pair('No subscription yet', 'Подписки пока нет'),
  noneAbout: pair(
    'Choose a term below. The first device is set up with the purchase.',
    'Выберите срок ниже. Первое устройство настраивается вместе с покупкой.',
  ),
  buy: pair('Buy a subscription', 'Купить подписку'),
  renew: pair('Renew', 'Продлить'),
  renewAbout: pair(
    'Months are added to what is left; devices and keys stay the same.',
    'Месяцы прибавляются к оставшимся; устройства и ключи не меняются.',
  ),
  months: pair(
    (count: number, format: Format) => format.plural(count, 'month', 'months'),
    (count, format) => format.plural(count, 'месяц', 'месяца', 'месяцев'),
  ),
  noNode: pair(
    'No VPN node is up now. A shop in production refuses the purchase and charges nothing. ' +
      'In a sandbox the VPN is sold and does not connect until a node runs.',
    'Сейчас не работает ни один узел VPN. Рабочий магазин откажет и ничего не спишет. ' +
      'В песочнице VPN продаётся, но не подключится, пока узел не запущен.',
  ),
  perMonth: phrase('{price} a month', '{price} в месяц'),
  term: pair('Term', 'Срок'),
  deviceName: pair('Name of the first device', 'Имя первого устройства'),
  deviceHint: pair('Phone', 'Телефон'),
  location: pair('Location', 'Место'),
  renewFor: phrase('Renew for {price}', 'Продлить за {price}'),
  statuses: names({
    ACTIVE: pair('Active', 'Активна'),
    EXPIRED: pair('Ended', 'Закончилась'),
    DISABLED: pair('Disabled', 'Отключена'),
    LIMITED: pair('Limited', 'Ограничена'),
    NONE: pair('None', 'Нет'),
  }),
  node: pair('Node', 'Узел'),
  autoRenewAbout: pair(
    'A day before the end, for as many months as last bought',
    'За день до конца, на столько же месяцев, сколько куплено в последний раз',
  ),
  devicesOf: phrase('{used} of {limit}', '{used} из {limit}'),
  handshake: pair('Last handshake', 'Последняя связь'),
  show: pair('Set up', 'Настроить'),
  removeAbout: phrase(
    '{name} loses its connection at once, and its key is erased.',
    '{name} сразу потеряет связь, а его ключ будет стёрт.',
  ),
  add: pair('Add a device', 'Добавить устройство'),
  addName: pair('Name of the device', 'Имя устройства'),
  qr: pair('QR code of the configuration', 'QR-код настройки'),
  scan: pair(
    'Scan it with the WireGuard app, or open the file there.',
    'Отсканируйте его в приложении WireGuard или откройте там файл.',
  ),
  file: pair('Download the file', 'Скачать файл'),
  link: pair('Secret link', 'Секретная ссылка'),
  linkAbout: pair(
    'Anyone with this link sees the configuration: open it on the phone.',
    'Она показывает настройку всякому, у кого она есть: откройте её на телефоне.',
  ),
  end: pair('End the subscription', 'Прекратить подписку'),
  endAbout: pair(
    'Devices are cut off at once. What is left of the price is given back, if it was sold so.',
    'Устройства отключатся сразу. Остаток цены вернётся, если так было продано.',
  ),
  ownKey: pair(
    'This device has a key of its own, which only it knows: put it into the configuration.',
    'У этого устройства свой ключ, который знает только оно: впишите его в настройку.',
  ),
})
