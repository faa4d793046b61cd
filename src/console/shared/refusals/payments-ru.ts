import type { Said } from './translate.ts'

/** The same of payment providers, and of money that nobody has any more. */
export const paymentMessages: readonly Said[] = [
  [
    'This customer was erased: nobody has this balance any more. No money was moved.',
    'Этот покупатель удалён: баланс больше никому не принадлежит. Деньги не двигались.',
  ],
  [
    '{} does not answer, so its list could not be compared. Try again later.',
    '{} не отвечает, сверить его список не удалось. Повторите позже.',
  ],
  [
    '{} does not give its list out. Look whether its secret is still right.',
    '{} не отдаёт свой список. Проверьте, верен ли ещё его секрет.',
  ],
  [
    'The payment provider refused {} of your payments within an hour. Wait, or pay by another method.',
    'Платёжный сервис за час отклонил ваших платежей: {}. Подождите или выберите другой способ.',
  ],
  [
    '{} of your open payments hold a price already. Pay one of them, or top up first and buy then.',
    'Цену уже держат ваших открытых платежей: {}. Оплатите один из них или сначала пополните баланс, потом купите.',
  ],
  [
    'Your open payments may hold prices of {} RUB in all. Top up first and buy then.',
    'Открытые платежи держат цены не больше чем на {} ₽. Сначала пополните баланс, потом купите.',
  ],
  ['The payment provider did not accept this.', 'Платёжный сервис этого не принял.'],
  [
    'The payment provider did not accept this. Try another method or amount.',
    'Платёжный сервис этого не принял. Попробуйте другой способ или сумму.',
  ],
  [
    'The payment provider does not answer. Try again with the same Idempotency-Key, or with another method.',
    'Платёжный сервис не отвечает. Повторите или выберите другой способ.',
  ],
  [
    'The payment provider does not answer. What it has done is noted once it says so; the same can be asked ' +
      'again.',
    'Платёжный сервис не отвечает. Что он сделал, запишется, когда он ответит; запрос можно повторить.',
  ],
]
