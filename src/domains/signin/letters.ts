import type { Letter } from './ports.ts'

type Occasion = 'enter' | 'confirm' | 'reset' | 'first' | 'known' | 'buy'

type LetterText = { readonly subject: string; readonly ru: string; readonly en: string }

const letters: Readonly<Record<Occasion, LetterText>> = {
  enter: {
    subject: 'Ссылка для входа / A link to sign in',
    ru: 'Чтобы войти, откройте ссылку. Она одноразовая и действует сутки. Если вы её не запрашивали, не открывайте её.',
    en: 'To sign in, open the link. It works once, within a day. If you did not request it, ignore this message.',
  },
  confirm: {
    subject: 'Подтвердите адрес / Confirm your address',
    ru:
      'Чтобы завершить регистрацию, откройте ссылку и введите пароль, который вы выбрали. ' +
      'Она одноразовая и действует сутки. Если вы не регистрировались, проигнорируйте это письмо.',
    en:
      'To finish signing up, open the link and enter the password that you chose. It works once, within a day. ' +
      'If you did not sign up, ignore this message.',
  },
  reset: {
    subject: 'Новый пароль / A new password',
    ru:
      'Чтобы задать новый пароль, откройте ссылку. Она одноразовая и действует полчаса. ' +
      'Если вы этого не запрашивали, проигнорируйте это письмо.',
    en:
      'To set a new password, open the link. It works once, within half an hour. ' +
      'If you did not request it, ignore this message.',
  },
  first: {
    subject: 'Новый пароль / A new password',
    ru:
      'С этим адресом ещё нет учётной записи. Чтобы создать её и задать пароль, откройте ссылку. ' +
      'Она одноразовая и действует сутки. Если вы её не запрашивали, не открывайте её.',
    en:
      'This address has no account yet. To open an account with a password of your own, open the link. ' +
      'It works once, within a day. If you did not request it, ignore this message.',
  },
  buy: {
    subject: 'Продолжить покупку / Continue your purchase',
    ru:
      'Чтобы оплатить заказ, откройте ссылку. Она откроет вашу учётную запись, в которой появится покупка. ' +
      'Ссылка одноразовая и действует сутки. Если вы ничего не заказывали, проигнорируйте это письмо.',
    en:
      'To pay for your order, open the link. It opens your account, where you find what you buy. It works once, ' +
      'within a day. If you ordered nothing, ignore this message.',
  },
  known: {
    subject: 'Вы уже зарегистрированы / You have signed up already',
    ru:
      'С этим адресом пытались зарегистрироваться, возможно, вы. У него уже есть учётная запись. ' +
      'Войдите или задайте новый пароль.',
    en:
      'A sign-up was made with this address, perhaps by you. The address has an account already. ' +
      'Sign in, or set a new password.',
  },
}

/** A letter in Russian and English. */
export function letterOf(occasion: Occasion, to: string, url: string): Letter {
  const { subject, ru, en } = letters[occasion]
  return { kind: occasion, to, subject, text: `${ru}\n\n${url}\n\n${en}\n` }
}
