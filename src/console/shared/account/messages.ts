import { messages, pair, phrase } from '../messages.tsx'

export const accountMessages = messages({
  about: pair('How you sign in, and from where.', 'Как и откуда вы входите.'),
  signedInAs: pair('Signed in as', 'Вы вошли как'),
  noLogin: pair('Not set: you came by a link', 'Не задан: вы вошли по ссылке'),
  passwordAbout: pair(
    'All other sessions end when it changes.',
    'Все остальные сеансы закончатся, когда он изменится.',
  ),
  currentPassword: pair('Current password', 'Текущий пароль'),
  newLogin: pair('Login: a name of your choice', 'Логин: имя на ваш выбор'),
  passwordSet: pair('Password changed.', 'Пароль изменён.'),
  factor: pair('Second factor', 'Второй фактор'),
  factorOn: pair('Signing in takes a code from your authenticator.', 'Для входа нужен код из вашего приложения.'),
  factorOff: pair(
    'A code from an authenticator on your phone, beside the password.',
    'Код из приложения на телефоне, в придачу к паролю.',
  ),
  factorNeeds: pair('Set a password first.', 'Сначала задайте пароль.'),
  factorBegin: pair('Set up', 'Настроить'),
  factorScan: pair(
    'Scan this with your authenticator, then type the six digits that it shows.',
    'Отсканируйте это приложением и введите шесть цифр, которые оно покажет.',
  ),
  factorQr: pair('QR code for the authenticator', 'QR-код для приложения'),
  factorSecret: pair('Or type the secret', 'Или впишите секрет'),
  confirm: pair('Confirm', 'Подтвердить'),
  factorRemove: pair('Switch off', 'Выключить'),
  sessions: pair('Sessions', 'Сеансы'),
  sessionsAbout: pair(
    'Browsers that are signed in. End what you do not know.',
    'Браузеры, в которых вы вошли. Закончите те, которых не узнаёте.',
  ),
  browser: pair('Browser', 'Браузер'),
  current: pair('This one', 'Этот'),
  end: pair('End', 'Закончить'),
  endOthers: pair('End all others', 'Закончить остальные'),
  leave: pair('Delete the account', 'Удалить учётную запись'),
  leaveAbout: pair(
    'Everything you bought ends at once. This cannot be undone.',
    'Всё купленное закончится сразу. Вернуть это нельзя.',
  ),
  leaveSure: pair('I want all of it to end now', 'Я хочу, чтобы всё закончилось сейчас'),
  giveUp: phrase('I give up the balance of {balance}', 'Я отказываюсь от остатка {balance}'),
  byToken: pair(
    'You are signed in with an API token; accounts are managed with login and password.',
    'Вы вошли с токеном API; учётной записью управляют, войдя с логином и паролем.',
  ),
})
