import type { NoticeKind, NoticeLanguage } from './rules.ts'
import type { NoticeTemplate } from './rules-templates.ts'

const ends: Readonly<Record<NoticeLanguage, string>> = {
  en: '\n\n{site_url}\n\nDo not want these letters? Stop them here: {unsubscribe_url}\n',
  ru: '\n\n{site_url}\n\nНе хотите таких писем? Откажитесь от них здесь: {unsubscribe_url}\n',
}

type Both = Readonly<Record<NoticeLanguage, NoticeTemplate>>

const both = (en: NoticeTemplate, ru: NoticeTemplate): Both => ({
  en: { subject: en.subject, text: en.text + ends.en },
  ru: { subject: ru.subject, text: ru.text + ends.ru },
})

/** The texts that the operator gets back with a reset. */
export const shippedTemplates: Readonly<Record<NoticeKind, Both>> = {
  expiry: both(
    {
      subject: 'Services end soon or have ended',
      text: 'About your services:\n\n{items}\n\nBalance: {balance_rub} RUB.',
    },
    {
      subject: 'Услуги скоро закончатся или закончились',
      text: 'О ваших услугах:\n\n{items}\n\nБаланс: {balance_rub} ₽.',
    },
  ),
  balance: both(
    { subject: 'Your balance is low', text: '{items}\n\nTop it up, so that automatic renewals can be charged.' },
    { subject: 'Баланс заканчивается', text: '{items}\n\nПополните его, чтобы сработали автопродления.' },
  ),
  traffic: both(
    { subject: 'Traffic runs low', text: 'Of the traffic since your last purchase:\n\n{items}' },
    { subject: 'Трафик заканчивается', text: 'Из трафика с последней покупки:\n\n{items}' },
  ),
  receipt: both(
    { subject: 'Your orders and payments', text: '{items}\n\nBalance now: {balance_rub} RUB.' },
    { subject: 'Ваши заказы и платежи', text: '{items}\n\nБаланс сейчас: {balance_rub} ₽.' },
  ),
  price: both({ subject: 'Prices will change', text: '{items}' }, { subject: 'Цены изменятся', text: '{items}' }),
  message: both({ subject: '{subject}', text: '{message}' }, { subject: '{subject}', text: '{message}' }),
}
