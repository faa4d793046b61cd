import type { Words } from '../shared/language.tsx'

const en = {
  overview: 'Overview',
  dedicated: 'Dedicated proxies',
  premium: 'Premium proxies',
  vpn: 'VPN',
  orders: 'Orders',
  money: 'Money',
  api: 'API',
  balance: 'Balance',
  topUp: 'Top up',
  buy: 'Buy',
}
const ru: typeof en = {
  overview: 'Обзор',
  dedicated: 'Выделенные прокси',
  premium: 'Премиум-прокси',
  vpn: 'VPN',
  orders: 'Заказы',
  money: 'Деньги',
  api: 'API',
  balance: 'Баланс',
  topUp: 'Пополнить',
  buy: 'Купить',
}
export const customerWords: Words<typeof en> = { en, ru }
