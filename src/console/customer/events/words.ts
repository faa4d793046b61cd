import type { Words } from '../../shared/language.tsx'

const en = {
  title: 'Events',
  about: 'What happened to your things in the last 30 days, the newest first.',
  type: 'What',
  all: 'Everything',
  when: 'When',
  details: 'Details',
  order: 'Order',
  none: 'Nothing has happened',
  noneAbout: 'Replaced addresses, outages, refunds and payments are told here.',
}
const ru: typeof en = {
  title: 'События',
  about: 'Что происходило с вашими покупками за последние 30 дней, новое сверху.',
  type: 'Что',
  all: 'Все',
  when: 'Когда',
  details: 'Подробности',
  order: 'Заказ',
  none: 'Ничего не происходило',
  noneAbout: 'Здесь сообщается о заменённых адресах, сбоях, возвратах и платежах.',
}
export const eventPageWords: Words<typeof en> = { en, ru }
