import { messages, pair } from '../shared/messages.tsx'

/** The names of the menu, and texts that several pages show. */
export const customerTexts = {
  dedicated: pair('Dedicated proxies', 'Выделенные прокси'),
  premium: pair('Premium proxies', 'Премиум-прокси'),
  vpn: 'VPN',
  money: pair('Money', 'Деньги'),
  events: pair('Events', 'События'),
  api: 'API',
  passwordFirst: pair(
    'Set a password. Until then you can only look around here.',
    'Задайте пароль. До этого здесь можно только смотреть.',
  ),
  viewed: pair(
    'You look at this customer’s pages as an operator. Nothing can be changed here.',
    'Вы смотрите страницы покупателя как оператор. Изменить здесь ничего нельзя.',
  ),
}

export const customerMessages = messages(customerTexts)
