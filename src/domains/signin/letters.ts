import type { Letter } from './ports.ts'

type Occasion = 'enter' | 'confirm' | 'reset' | 'first' | 'known'

type LetterText = { readonly subject: string; readonly ru: string; readonly en: string }

const letters: Readonly<Record<Occasion, LetterText>> = {
  enter: {
    subject: 'Ссылка для входа / A link to sign in',
    ru: 'Чтобы войти, откройте ссылку. Она действует сутки и один раз. Если вы об этом не просили, ничего не делайте.',
    en: 'To sign in, open the link. It works for a day, once. If you have not asked for it, do nothing.',
  },
  confirm: {
    subject: 'Подтвердите адрес / Confirm your address',
    ru:
      'Чтобы завершить регистрацию, откройте ссылку и введите пароль, который вы выбрали. ' +
      'Она действует сутки и один раз. Если вы не регистрировались, ничего не делайте.',
    en:
      'To finish signing up, open the link and give the password that you chose. It works for a day, once. ' +
      'If you have not signed up, do nothing.',
  },
  reset: {
    subject: 'Новый пароль / A new password',
    ru:
      'Чтобы задать новый пароль, откройте ссылку. Она действует полчаса и один раз. ' +
      'Если вы этого не просили, ничего не делайте.',
    en:
      'To set a new password, open the link. It works for half an hour, once. ' +
      'If you have not asked for it, do nothing.',
  },
  first: {
    subject: 'Новый пароль / A new password',
    ru:
      'С этим адресом ещё никто не входит. Чтобы открыть учётную запись со своим паролем, откройте ссылку. ' +
      'Она действует сутки и один раз. Если вы этого не просили, ничего не делайте.',
    en:
      'This address has no account yet. To open an account with a password of your own, open the link. ' +
      'It works for a day, once. If you have not asked for it, do nothing.',
  },
  known: {
    subject: 'Вы уже зарегистрированы / You have signed up already',
    ru:
      'Кто-то, возможно вы, регистрировался с этим адресом, но он уже зарегистрирован. ' +
      'Войдите или задайте новый пароль.',
    en:
      'A sign-up was made with this address, perhaps by you. The address has an account already. ' +
      'Sign in, or set a new password.',
  },
}

/** A letter in Russian and English. */
export function letterOf(occasion: Occasion, to: string, url: string): Letter {
  const { subject, ru, en } = letters[occasion]
  return { to, subject, text: `${ru}\n\n${url}\n\n${en}\n` }
}
