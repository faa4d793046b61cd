const en = {
  language: 'en',
  currency: 'RUB',
  nothing: 'Nothing to pay here',
  nothingAbout: 'There is no such payment at this link.',
  notHere: 'Not paid here',
  notHereAbout: 'This is not paid with a button.',
  paid: 'This is paid.',
  refunded: 'This was paid and has gone back.',
  over: 'This is over.',
  until: 'Until',
  sandbox: 'A sandbox: nobody pays anything.',
  pay: 'Pay',
  purpose: 'Give this as the purpose:',
  later: 'It is credited when the seller has the money.',
  back: 'Back to',
}
const ru: typeof en = {
  language: 'ru',
  currency: '₽',
  nothing: 'Здесь нечего оплачивать',
  nothingAbout: 'По этой ссылке такого платежа нет.',
  notHere: 'Здесь это не оплачивается',
  notHereAbout: 'Это не оплачивается кнопкой.',
  paid: 'Оплачено.',
  refunded: 'Было оплачено и возвращено.',
  over: 'Время вышло.',
  until: 'До',
  sandbox: 'Это песочница: никто ничего не платит.',
  pay: 'Оплатить',
  purpose: 'Укажите назначение платежа:',
  later: 'Зачислится, когда деньги будут у продавца.',
  back: 'Вернуться на',
}

/** What the page to pay at says, in both languages of the console. */
export const payPageWords = { en, ru }
export type PayPageWords = typeof en

/** What the payer's browser speaks, the first of both that it names; English unless it says so. */
export function languageOf(request: Request): keyof typeof payPageWords {
  const said = (request.headers.get('accept-language') ?? '').toLowerCase()
  return /^[^;]*?\b(ru|en)\b/.exec(said)?.[1] === 'ru' ? 'ru' : 'en'
}
