import { messages, pair, phrase } from '../messages.ts'

export const signInMessages = messages({
  title: pair('Sign in', 'Вход'),
  operatorTitle: pair('Sign in as operator', 'Вход для оператора'),
  email: pair('E-mail', 'Эл. почта'),
  code: pair('Code of the second factor', 'Код второго фактора'),
  codeAbout: pair('Six digits from your authenticator.', 'Шесть цифр из вашего приложения.'),
  enter: pair('Sign in', 'Войти'),
  withToken: pair('With an API token', 'С токеном API'),
  withPassword: pair('With login and password', 'С логином и паролем'),
  token: pair('API token', 'Токен API'),
  tokenAbout: pair(
    'It stays in this tab and is forgotten with it.',
    'Он остаётся в этой вкладке и забывается вместе с ней.',
  ),
  docs: pair('The API and its documentation', 'API и его документация'),
  register: pair('Sign up', 'Регистрация'),
  registerAbout: pair('An e-mail address and a password are all it takes.', 'Нужны только адрес эл. почты и пароль.'),
  haveAccount: pair('I have an account', 'У меня есть учётная запись'),
  ref: pair('Code of who brought you', 'Код того, кто вас привёл'),
  refs: {
    known: phrase(
      '{code} is known here: the customer who brought you gets a share.',
      'Код {code} здесь знают: тот, кто вас привёл, получит свою долю.',
    ),
    unknown: phrase(
      'Nobody here has the code {code}. You can sign up all the same.',
      'Кода {code} здесь ни у кого нет. Зарегистрироваться можно и без него.',
    ),
    off: phrase(
      'Nothing is given here for bringing customers. You can sign up all the same.',
      'За приглашения здесь ничего не начисляется. Зарегистрироваться можно и так.',
    ),
    own: phrase(
      'This is your own code. You can sign up all the same.',
      'Это ваш собственный код. Зарегистрироваться можно и так.',
    ),
    earlier: phrase(
      'You were a customer before the owner of this code. You can sign up all the same.',
      'Вы были здесь раньше владельца этого кода. Зарегистрироваться можно и так.',
    ),
  },
  refOwn: pair(
    'You have signed up. The code is your own, so it earns no share.',
    'Вы зарегистрированы. Код ваш собственный, поэтому доля по нему никому не начисляется.',
  ),
  goOn: pair('Go on', 'Дальше'),
  forgotten: pair('Forgotten password', 'Забыли пароль?'),
  forgottenAbout: pair(
    'We send a link that lets you set a new one.',
    'Мы пришлём ссылку, по которой можно задать новый.',
  ),
  send: pair('Send the link', 'Прислать ссылку'),
  sentAbout: pair(
    'If there is such a customer, or one may sign up here, a letter with a link is on its way.',
    'Если такой покупатель есть или здесь можно зарегистрироваться, письмо со ссылкой уже в пути.',
  ),
  confirmSent: pair(
    'A letter with a link is on its way. Open it and give your password once more to finish.',
    'Письмо со ссылкой уже в пути. Чтобы закончить, откройте её и введите свой пароль ещё раз.',
  ),
  confirmTitle: pair('Finish signing up', 'Завершение регистрации'),
  confirmAbout: pair(
    'Give the password that was chosen when signing up with this address.',
    'Введите пароль, который выбрали при регистрации с этим адресом.',
  ),
  confirm: pair('Finish', 'Завершить'),
  confirmUnknown: pair(
    'If you do not know it, another person may have chosen it. It opens nothing by itself: choose your own.',
    'Если вы его не знаете, его мог выбрать кто-то другой. Сам по себе он ничего не открывает: выберите свой.',
  ),
  registerAnew: pair('Sign up again', 'Зарегистрироваться заново'),
  setOwn: pair('Set a password by letter', 'Задать пароль по письму'),
  passwordSet: pair('The new password holds. Sign in with it.', 'Новый пароль действует. Войдите с ним.'),
  entering: pair('Opening…', 'Открываем…'),
  linkFailed: pair('The link does not work any more', 'Ссылка больше не действует'),
  linkFailedAbout: pair(
    'A link works once, and for a limited time. Ask for another one, or sign in.',
    'Ссылка работает один раз и недолго. Попросите другую или войдите.',
  ),
})
