import type { Words } from '../shared/language.tsx'

const en = {
  overview: 'Overview',
  dedicated: 'Dedicated proxies',
  premium: 'Premium proxies',
  vpn: 'VPN',
  orders: 'Orders',
  money: 'Money',
  events: 'Events',
  api: 'API',
  account: 'Account',
  passwordFirst: 'Set a password. Until then you can only look around here.',
  viewed: 'You look at this customer’s pages as an operator. Nothing can be changed here.',
  balance: 'Balance',
  topUp: 'Top up',
}
const ru: typeof en = {
  overview: 'Обзор',
  dedicated: 'Выделенные прокси',
  premium: 'Премиум-прокси',
  vpn: 'VPN',
  orders: 'Заказы',
  money: 'Деньги',
  events: 'События',
  api: 'API',
  account: 'Учётная запись',
  passwordFirst: 'Задайте пароль. До этого здесь можно только смотреть.',
  viewed: 'Вы смотрите страницы покупателя как оператор. Изменить здесь ничего нельзя.',
  balance: 'Баланс',
  topUp: 'Пополнить',
}
export const customerWords: Words<typeof en> = { en, ru }
