import { type Format, messages, pair, phrase } from '../messages.tsx'

export const accountMessages = messages({
  about: pair('Sign-in settings and sessions.', 'Настройки входа и сеансы.'),
  signedInAs: pair('Signed in as', 'Вы вошли как'),
  noLogin: pair('Not set: you signed in with a link', 'Не задан: вы вошли по ссылке'),
  passwordAbout: pair('Changing the password ends all other sessions.', 'Смена пароля завершает все остальные сеансы.'),
  currentPassword: pair('Current password', 'Текущий пароль'),
  newLogin: pair('Choose a login', 'Придумайте логин'),
  passwordSet: pair('Password set.', 'Пароль задан.'),
  passwordChanged: pair('Password changed.', 'Пароль изменён.'),
  factor: pair('Second factor', 'Второй фактор'),
  factorOn: pair(
    'Signing in requires a code from your authenticator.',
    'Для входа нужен код из приложения-аутентификатора.',
  ),
  factorOff: pair(
    'A code from an authenticator on your phone, in addition to the password.',
    'Код из приложения-аутентификатора на телефоне в дополнение к паролю.',
  ),
  factorNeeds: pair('Set a password first.', 'Сначала задайте пароль.'),
  factorBegin: pair('Set up', 'Настроить'),
  factorOpen: pair('Open in the authenticator', 'Открыть в приложении-аутентификаторе'),
  factorAdd: pair(
    'Open your authenticator, or copy the key into it, then enter the six digits it shows.',
    'Откройте приложение-аутентификатор или скопируйте в него ключ и введите шесть цифр, которые оно покажет.',
  ),
  factorScan: pair(
    'Scan this with your authenticator, then enter the six digits it shows.',
    'Отсканируйте QR-код приложением-аутентификатором и введите шесть цифр, которые оно покажет.',
  ),
  factorQr: pair('QR code for the authenticator', 'QR-код для приложения-аутентификатора'),
  factorSecret: pair('Or enter this key', 'Или введите этот ключ'),
  confirm: pair('Confirm', 'Подтвердить'),
  recoveryCodes: pair('Recovery codes', 'Коды восстановления'),
  recoveryAbout: pair(
    'If you lose your phone, sign in with one of these codes. Each works once. Save them: they are shown only now.',
    'Если телефон потерян, войдите с одним из этих кодов. Каждый действует один раз. Сохраните их сейчас.',
  ),
  recoveryLeft: pair(
    (count: number, format: Format) => `${format.plural(count, 'recovery code', 'recovery codes')} left.`,
    (count, format) =>
      `Осталось ${format.plural(count, 'код восстановления', 'кода восстановления', 'кодов восстановления')}.`,
  ),
  recoveryNone: pair(
    'You have no recovery codes. Without them, a lost phone locks you out.',
    'Кодов восстановления нет. Без них при потере телефона войти не получится.',
  ),
  recoveryRenew: pair('New recovery codes', 'Новые коды восстановления'),
  recoveryRenewAbout: pair('New codes replace all earlier ones.', 'Новые коды заменяют все прежние.'),
  factorRemove: pair('Switch off', 'Выключить'),
  sessions: pair('Sessions', 'Сеансы'),
  sessionsAbout: pair(
    'Browsers signed in to your account. End sessions you do not recognise.',
    'Браузеры, в которых выполнен вход. Завершите незнакомые сеансы.',
  ),
  sameSource: pair('The same address as now', 'Тот же адрес, что сейчас'),
  browser: pair('Browser', 'Браузер'),
  current: pair('This one', 'Этот'),
  end: pair('End', 'Завершить'),
  endOthers: pair('End all others', 'Завершить остальные'),
  leave: pair('Delete the account', 'Удалить учётную запись'),
  leaveAbout: pair(
    'All your services end at once. This cannot be undone.',
    'Все ваши услуги сразу прекратятся. Отменить это нельзя.',
  ),
  leaveSure: pair('End all my services now', 'Прекратить все мои услуги сейчас'),
  giveUp: phrase('I give up the balance of {balance}', 'Я отказываюсь от остатка {balance}'),
  byToken: pair(
    'You are signed in with an API token. To manage the account, sign in with login and password.',
    'Вы вошли с токеном API. Чтобы управлять учётной записью, войдите с логином и паролем.',
  ),
})
