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
    'Set a password first. Until then the console is read-only.',
    'Сначала задайте пароль. До этого доступен только просмотр.',
  ),
  viewed: pair(
    'You are viewing this customer’s pages as an operator, read-only.',
    'Вы просматриваете страницы покупателя как оператор. Изменения недоступны.',
  ),
}

export const customerMessages = messages(customerTexts)
