import { Button, PasswordInput, Text, TextInput, Title, UnstyledButton } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { CallRefused, isRecord } from '../client/call.ts'
import {
  auth,
  dropLink,
  enterAs,
  enterWithToken,
  findLink,
  findReplaced,
  own,
  part,
  type SignedOut,
  type SignInLink,
  stay,
} from '../client/session.ts'
import type { Who } from '../client/sign-in.ts'
import { brand } from './brand.ts'
import { SubmitForm, useTyped } from './form.tsx'
import { LanguageSwitch, ThemeSwitch } from './frame.tsx'
import { Mark } from './icons.tsx'
import { messages, pair, phrase, useMessages } from './messages.tsx'
import { Notice, Reading, RefusalNotice } from './parts.tsx'

const signInMessages = messages({
  title: pair('Sign in', 'Вход'),
  firstOperator: pair(
    'No account yet? On the shop’s machine this command adds an operator and prints a sign-in link:',
    'Ещё нет учётной записи? На машине магазина эта команда добавит оператора и напечатает ссылку для входа:',
  ),
  operatorTitle: pair('Sign in as operator', 'Вход для оператора'),
  email: pair('E-mail', 'Эл. почта'),
  code: pair('Code of the second factor', 'Код второго фактора'),
  recoveryCode: pair('Recovery code', 'Код восстановления'),
  recoveryAbout: pair(
    'One of the codes that you saved when you set up the second factor. It works once.',
    'Один из кодов, которые вы сохранили при включении второго фактора. Он действует один раз.',
  ),
  useRecovery: pair('Use a recovery code', 'Ввести код восстановления'),
  useCode: pair('Use the authenticator', 'Ввести код из приложения-аутентификатора'),
  codeAbout: pair('Six digits from your authenticator.', 'Шесть цифр из приложения-аутентификатора.'),
  enter: pair('Sign in', 'Войти'),
  withToken: pair('With an API token', 'С токеном API'),
  toSignIn: pair('Back to sign-in', 'Назад ко входу'),
  becomeCustomer: pair(
    'No account yet? The seller creates it and sends you a link that signs you in.',
    'Нет учётной записи? Её создаёт продавец: он пришлёт вам ссылку для входа.',
  ),
  token: pair('API token', 'Токен API'),
  tokenAbout: pair(
    'The token is kept in this tab until you close it.',
    'Токен хранится в этой вкладке, пока вы её не закроете.',
  ),
  docs: pair('API documentation', 'Документация API'),
  register: pair('Sign up', 'Регистрация'),
  registerAbout: pair('You need an e-mail address and a password.', 'Нужны адрес эл. почты и пароль.'),
  haveAccount: pair('I have an account', 'У меня есть учётная запись'),
  ref: pair('Referral code', 'Код приглашения'),
  refs: {
    known: phrase(
      'Code {code} is valid: the customer who referred you gets a reward.',
      'Код {code} действует: пригласивший вас получит награду.',
    ),
    unknown: phrase(
      'There is no referral code {code}. You can sign up without it.',
      'Кода приглашения {code} нет. Зарегистрироваться можно и без него.',
    ),
    off: phrase(
      'The referral programme is off. You can still sign up.',
      'Реферальная программа выключена. Зарегистрироваться всё равно можно.',
    ),
    own: phrase(
      'This is your own code. You can still sign up.',
      'Это ваш собственный код. Зарегистрироваться всё равно можно.',
    ),
    earlier: phrase(
      'You became a customer before the owner of this code. You can still sign up.',
      'Вы стали покупателем раньше владельца этого кода. Зарегистрироваться всё равно можно.',
    ),
  },
  refOwn: pair(
    'You have signed up. The code is your own, so it earns no reward.',
    'Вы зарегистрированы. Код ваш собственный, награда по нему не начисляется.',
  ),
  goOn: pair('Continue', 'Продолжить'),
  forgotten: pair('Forgot your password?', 'Забыли пароль?'),
  forgottenAbout: pair(
    'We will send you a link to set a new password.',
    'Мы пришлём ссылку, чтобы задать новый пароль.',
  ),
  forgottenAsk: pair(
    'This shop sends no e-mail. Write to the seller where you got your access, ask for a link that signs you in, and ' +
      'set a new password in your account.',
    'Этот магазин не отправляет писем. Напишите продавцу туда, где вы получили доступ, попросите ссылку для входа и ' +
      'задайте новый пароль на странице учётной записи.',
  ),
  forgottenWrite: pair(
    'This shop sends no e-mail. Ask the seller for a link that signs you in, and set a new password in your account.',
    'Этот магазин не отправляет писем. Попросите у продавца ссылку для входа и задайте новый пароль на странице ' +
      'учётной записи.',
  ),
  contact: pair('Write to the seller:', 'Написать продавцу:'),
  send: pair('Send the link', 'Прислать ссылку'),
  sentAbout: pair(
    'If the address has an account or can sign up here, we have sent a link to it.',
    'Если у этого адреса есть учётная запись или с ним можно зарегистрироваться, мы отправили на него ссылку.',
  ),
  confirmSent: pair(
    'We have sent you a link. Open it and enter your password again to finish.',
    'Мы отправили вам ссылку. Откройте её и введите пароль ещё раз, чтобы завершить регистрацию.',
  ),
  confirmTitle: pair('Finish signing up', 'Завершение регистрации'),
  confirmAbout: pair(
    'Enter the password chosen at sign-up with this address.',
    'Введите пароль, выбранный при регистрации с этим адресом.',
  ),
  confirm: pair('Finish', 'Завершить'),
  confirmUnknown: pair(
    'If you do not know it, another person may have chosen it. That password gives no access: choose your own.',
    'Если вы его не знаете, его мог выбрать кто-то другой. Этот пароль не даёт доступа: задайте свой.',
  ),
  registerAnew: pair('Sign up again', 'Зарегистрироваться заново'),
  setOwn: pair('Set a password by e-mail', 'Задать пароль через почту'),
  passwordSet: pair('Password changed. Sign in with the new password.', 'Пароль изменён. Войдите с новым паролем.'),
  entering: pair('Opening…', 'Открываем…'),
  ended: {
    'session-ended': pair(
      'Your session has ended: it has expired, or it was ended on another device or in another tab. Sign in again.',
      'Ваш сеанс завершён: он истёк, или его завершили на другом устройстве или в другой вкладке. Войдите снова.',
    ),
    'token-refused': pair(
      'The shop does not accept this API token. It was revoked, has expired or was typed wrongly.',
      'Магазин не принимает этот токен API: он отозван, истёк или введён с ошибкой.',
    ),
  },
  signedIn: pair('You are signed in', 'Вы уже вошли'),
  signedInAs: phrase('In this browser you are signed in as {name}.', 'В этом браузере вы вошли как {name}.'),
  signedInAbout: pair(
    'The link opens the account that it was made for and ends your session in this browser. Use only a link that you ' +
      'requested or that the seller gave you.',
    'Ссылка откроет ту учётную запись, для которой она создана, и завершит ваш сеанс в этом браузере. Открывайте ' +
      'только ссылку, которую запросили сами или получили от продавца.',
  ),
  holderOfToken: pair('the holder of an API token', 'владелец токена API'),
  stay: pair('Stay signed in', 'Остаться'),
  useLink: pair('Use the link', 'Войти по ссылке'),
  linkFailed: pair('The link no longer works', 'Ссылка больше не действует'),
  linkFailedAbout: pair(
    'A link works once and for a limited time. Request another one, or sign in.',
    'Ссылка работает один раз и ограниченное время. Запросите новую или войдите.',
  ),
})

type Way = 'password' | 'token' | 'register' | 'forgotten' | 'link'
type WayProps = { readonly onWay: (way: Way) => void }

const maxRefLength = 40

/** The referral code of the link that led here: `/?ref=…`. */
const broughtBy: string =
  part === 'customer' ? (new URLSearchParams(location.search).get('ref') ?? '').trim().slice(0, maxRefLength) : ''

/** What the shop offers before signing in; undefined until it has answered. */
const useOffers = () => useQuery({ queryKey: ['offers'], queryFn: () => auth.call(own('getOffersFor')) }).data

export function SignIn({ why }: { readonly why: SignedOut }) {
  const { t } = useMessages(signInMessages)
  const [link] = useState(findLink)
  useEffect(dropLink, [])
  const [linkState, setLinkState] = useState<LinkState>('opening')
  const [chosen, setWay] = useState<Way | undefined>(link ? 'link' : undefined)
  const offers = useOffers()
  const way = chosen ?? (broughtBy !== '' && offers?.registration ? 'register' : 'password')
  const ofLinks = { enter: t.entering, confirm: t.confirmTitle, reset: t.newPassword }
  const linkTitles = { opening: ofLinks[link?.kind ?? 'enter'], asking: t.signedIn, failed: t.linkFailed }
  const title = part === 'operator' ? t.operatorTitle : t.title
  const ways: Readonly<Record<Way, readonly [title: string, show: () => ReactNode]>> = {
    password: [title, () => <PasswordForm onWay={setWay} />],
    token: [title, () => <TokenForm onWay={setWay} />],
    register: [t.register, () => <RegisterForm onWay={setWay} />],
    forgotten: [t.forgotten, () => <ForgottenForm onWay={setWay} />],
    link: [
      linkTitles[linkState],
      () => link && <ByLink link={link} state={linkState} onState={setLinkState} onWay={setWay} />,
    ],
  }
  const [shown, show] = ways[way]
  return (
    <Door title={shown}>
      {why !== 'signed-out' && chosen === undefined && <Notice tone="warn">{t.ended[why]}</Notice>}
      {show()}
    </Door>
  )
}

function Door({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const { t, language } = useMessages(signInMessages)
  useEffect(() => {
    document.title = `${title} · ${brand.name}`
  }, [title])
  return (
    <div className="door">
      <header className="door-head">
        <span className="brand">
          <Mark /> {brand.name}
        </span>
        <div className="switches">
          <LanguageSwitch />
          <ThemeSwitch />
        </div>
      </header>
      <main className="door-card">
        <Title order={1}>{title}</Title>
        {children}
        {part === 'operator' && (
          <Text size="sm" c="dimmed">
            {t.firstOperator} <code>turnpike operator add NAME --role owner</code>
          </Text>
        )}
      </main>
      <footer>
        <Text size="sm">
          <a href={`/docs?lang=${language}`}>{t.docs}</a>
        </Text>
        <Text size="sm">
          <ContactLink />
        </Text>
      </footer>
    </div>
  )
}

/** The seller's contact; nothing if the shop has none. */
function ContactLink() {
  const { t } = useMessages(signInMessages)
  const contact = useOffers()?.contact
  if (!contact) return null
  return (
    <>
      {t.contact}{' '}
      <a href={contact.url} rel="noopener">
        {contact.text}
      </a>
    </>
  )
}

const Ways = ({ of, onWay }: WayProps & { readonly of: readonly (readonly [way: Way, label: string] | false)[] }) => (
  <div className="door-ways">
    {of.map(
      (each) =>
        each && (
          <UnstyledButton key={each[0]} className="way" onClick={() => onWay(each[0])}>
            {each[1]}
          </UnstyledButton>
        ),
    )}
  </div>
)

/** A form whose button is as wide as its fields. */
const wide = { className: '', look: { fullWidth: true } }

/** Whether the password or the link was right and the code of the second factor is missing. */
function wantsCode(error: unknown): boolean {
  return error instanceof CallRefused && isRecord(error.details) && error.details['code_required'] === true
}

/** A refusal that asks for the code is not shown: the code's field is. */
const withoutCode = (entry: { readonly isPending: boolean; readonly error: unknown }) =>
  wantsCode(entry.error) ? { isPending: entry.isPending, error: null } : entry

type TypedProps = { readonly typed: ReturnType<typeof useTyped> }

/** A code of the authenticator, typed on a keyboard of digits, or a recovery code. */
function CodeInput({ typed }: TypedProps) {
  const { t } = useMessages(signInMessages)
  const [isRecovery, setRecovery] = useState(false)
  return (
    <>
      <TextInput
        key={String(isRecovery)}
        label={isRecovery ? t.recoveryCode : t.code}
        description={isRecovery ? t.recoveryAbout : t.codeAbout}
        inputMode={isRecovery ? 'text' : 'numeric'}
        autoComplete={isRecovery ? 'off' : 'one-time-code'}
        autoFocus
        {...typed.props}
      />
      <Button
        variant="subtle"
        size="xs"
        onClick={() => {
          typed.set('')
          setRecovery(!isRecovery)
        }}
      >
        {isRecovery ? t.useCode : t.useRecovery}
      </Button>
    </>
  )
}

function EmailInput({ typed }: TypedProps) {
  const { t } = useMessages(signInMessages)
  return <TextInput label={t.email} type="email" autoComplete="username" {...typed.props} />
}

function PasswordForm({ onWay }: WayProps) {
  const { t } = useMessages(signInMessages)
  const login = useTyped()
  const password = useTyped()
  const code = useTyped()
  const [isCodeWanted, setCodeWanted] = useState(false)
  const offers = useOffers()
  const isForCustomers = part === 'customer'
  const body = { login: login.text, password: password.value, ...(code.text !== '' && { code: code.text }) }
  const entry = useMutation({
    mutationFn: () => auth.call(own('signIn'), { body }),
    onSuccess: enterAs,
    onError: (error) => wantsCode(error) && setCodeWanted(true),
  })
  return (
    <>
      <SubmitForm
        {...wide}
        onSubmit={entry.mutate}
        label={t.enter}
        isReady={login.text !== '' && password.value !== '' && (!isCodeWanted || code.text !== '')}
        change={withoutCode(entry)}
      >
        <TextInput label={t.login} autoComplete="username" {...login.props} />
        <PasswordInput label={t.password} autoComplete="current-password" {...password.props} />
        {isCodeWanted && <CodeInput typed={code} />}
      </SubmitForm>
      {isForCustomers && offers?.registration === false && (
        <Text size="sm" c="dimmed">
          {t.becomeCustomer}
        </Text>
      )}
      <Ways
        onWay={onWay}
        of={[
          isForCustomers && offers !== undefined && ['forgotten', t.forgotten],
          isForCustomers && offers?.registration === true && ['register', t.register],
          ['token', t.withToken],
        ]}
      />
    </>
  )
}

function TokenForm({ onWay }: WayProps) {
  const { t } = useMessages(signInMessages)
  const token = useTyped()
  return (
    <>
      <SubmitForm {...wide} onSubmit={() => enterWithToken(token.text)} label={t.enter} isReady={token.text !== ''}>
        <PasswordInput label={t.token} description={t.tokenAbout} autoComplete="off" {...token.props} />
      </SubmitForm>
      <Ways onWay={onWay} of={[['password', t.toSignIn]]} />
    </>
  )
}

function ForgottenForm({ onWay }: WayProps) {
  const { t } = useMessages(signInMessages)
  const email = useTyped()
  const request = useMutation({ mutationFn: () => auth.call('forgotPassword', { body: { email: email.text } }) })
  const offers = useOffers()
  const isMailed = offers?.mail === true
  const askSeller = offers?.contact ? t.forgottenWrite : t.forgottenAsk
  return (
    <>
      {request.data ? (
        <Text role="status">{t.sentAbout}</Text>
      ) : (
        <Text c="dimmed">
          {isMailed ? t.forgottenAbout : askSeller} <ContactLink />
        </Text>
      )}
      {isMailed && !request.data && (
        <SubmitForm {...wide} onSubmit={request.mutate} label={t.send} isReady={email.text !== ''} change={request}>
          <EmailInput typed={email} />
        </SubmitForm>
      )}
      <Ways onWay={onWay} of={[['password', t.toSignIn]]} />
    </>
  )
}

function RegisterForm({ onWay }: WayProps) {
  const { t } = useMessages(signInMessages)
  const email = useTyped()
  const password = useTyped()
  const ref = useTyped(broughtBy)
  const body = { email: email.text, password: password.value, ...(ref.text !== '' && { ref: ref.text }) }
  const entry = useMutation({
    mutationFn: () => auth.call('register', { body }),
    // A customer who used their own code reads so before the console opens.
    onSuccess: (done) => done.who && done.ref !== 'own' && enterAs(done.who),
  })
  if (entry.data?.confirm) return <Text role="status">{t.confirmSent}</Text>
  if (entry.data?.who) return <OwnCode who={entry.data.who} />
  return (
    <>
      <Text c="dimmed">{t.registerAbout}</Text>
      <SubmitForm
        {...wide}
        onSubmit={entry.mutate}
        label={t.register}
        isReady={email.text !== '' && password.value !== ''}
        change={entry}
      >
        <EmailInput typed={email} />
        <PasswordInput label={t.password} autoComplete="new-password" {...password.props} />
        {broughtBy !== '' && <TextInput label={t.ref} autoComplete="off" maxLength={maxRefLength} {...ref.props} />}
        {ref.text !== '' && <Ref code={ref.text} />}
      </SubmitForm>
      <Ways onWay={onWay} of={[['password', t.haveAccount]]} />
    </>
  )
}

/** Whether the shop knows a referral code. An unknown one does not prevent signing up. */
function Ref({ code }: { readonly code: string }) {
  const { t } = useMessages(signInMessages)
  const [settled] = useDebouncedValue(code, 300)
  const found = useQuery({
    queryKey: ['lookAtRef', settled],
    queryFn: () => auth.call('lookAtRef', { query: { code: settled } }),
  }).data
  if (!found || settled !== code) return null
  return (
    <Text role="status" size="sm" c="dimmed">
      {t.refs[found.ref](code)}
    </Text>
  )
}

function OwnCode({ who }: { readonly who: Who }) {
  const { t } = useMessages(signInMessages)
  return (
    <>
      <Text role="status">{t.refOwn}</Text>
      <Button onClick={() => enterAs(who)}>{t.goOn}</Button>
    </>
  )
}

type LinkState = 'opening' | 'asking' | 'failed'
type LinkProps = WayProps & { readonly link: SignInLink; readonly onFailed: () => void }

type ByLinkProps = WayProps & {
  readonly link: SignInLink
  readonly state: LinkState
  readonly onState: (state: LinkState) => void
}

/**
 * Uses a link. A link that signs in asks first if this browser has a session: a link to another person's account would
 * otherwise replace it unseen.
 */
function ByLink({ link, state, onState, onWay }: ByLinkProps) {
  const [isWanted, setWanted] = useState(link.kind === 'reset')
  const replaced = useQuery({ queryKey: ['replaced'], queryFn: findReplaced, enabled: !isWanted })
  const isAsked = !isWanted && Boolean(replaced.data)
  useEffect(() => {
    if (state !== 'failed') onState(isAsked ? 'asking' : 'opening')
  }, [isAsked, state, onState])
  const Shown = { enter: EnterByLink, confirm: ConfirmByLink, reset: ResetByLink }[link.kind]
  const shown = <Shown link={link} onWay={onWay} onFailed={() => onState('failed')} />
  if (isWanted) return shown
  return (
    <Reading of={replaced} height={60}>
      {(session) => (session === null ? shown : <Replacing session={session} onUse={() => setWanted(true)} />)}
    </Reading>
  )
}

type ReplacingProps = {
  readonly session: NonNullable<Awaited<ReturnType<typeof findReplaced>>>
  readonly onUse: () => void
}

function Replacing({ session, onUse }: ReplacingProps) {
  const { t } = useMessages(signInMessages)
  const { who } = session
  const name = who === undefined ? t.holderOfToken : (who.email ?? who.login ?? who.name)
  return (
    <>
      <Text>{t.signedInAs(name)}</Text>
      <Text c="dimmed">{t.signedInAbout}</Text>
      <Button fullWidth onClick={() => stay(session)}>
        {t.stay}
      </Button>
      <Button fullWidth variant="default" onClick={onUse}>
        {t.useLink}
      </Button>
    </>
  )
}

/** Signs in with the link, once, and asks for the code of the second factor if there is one. */
function EnterByLink({ link, onWay, onFailed }: LinkProps) {
  const { t } = useMessages(signInMessages)
  const code = useTyped()
  const [isCodeWanted, setCodeWanted] = useState(false)
  const body = { link: link.secret, ...(code.text !== '' && { code: code.text }) }
  const entry = useMutation({
    mutationFn: () => auth.call(own('signInByLink'), { body }),
    onSuccess: enterAs,
    onError: (error) => (wantsCode(error) ? setCodeWanted(true) : hasEnded(error) && onFailed()),
  })
  const { mutate } = entry
  useEffect(() => mutate(), [mutate])
  if (isCodeWanted && !hasEnded(entry.error)) {
    return (
      <SubmitForm {...wide} onSubmit={mutate} label={t.enter} isReady={code.text !== ''} change={withoutCode(entry)}>
        <CodeInput typed={code} />
      </SubmitForm>
    )
  }
  if (entry.error === null) return <Text role="status">{t.entering}</Text>
  return <LinkFailed error={entry.error} onWay={onWay} />
}

function ConfirmByLink({ link, onWay, onFailed }: LinkProps) {
  const { t } = useMessages(signInMessages)
  const password = useTyped()
  const offers = useOffers()
  const entry = useMutation({
    mutationFn: () => auth.call('confirmAddress', { body: { link: link.secret, password: password.value } }),
    onSuccess: enterAs,
    onError: (error) => hasEnded(error) && onFailed(),
  })
  if (hasEnded(entry.error)) return <LinkFailed error={entry.error} onWay={onWay} />
  return (
    <>
      <Text c="dimmed">{t.confirmAbout}</Text>
      <SubmitForm {...wide} onSubmit={entry.mutate} label={t.confirm} isReady={password.value !== ''} change={entry}>
        <PasswordInput label={t.password} autoComplete="current-password" {...password.props} />
      </SubmitForm>
      <Text c="dimmed">{t.confirmUnknown}</Text>
      <Ways
        onWay={onWay}
        of={[
          offers?.registration === true && ['register', t.registerAnew],
          offers?.mail === true && ['forgotten', t.setOwn],
        ]}
      />
    </>
  )
}

/** True for a link that cannot work any more: used, expired, or its e-mail address is confirmed already. */
const hasEnded = (error: unknown): boolean =>
  error instanceof CallRefused && (error.code === 'not_found' || error.code === 'conflict')

function LinkFailed({ error, onWay }: WayProps & { readonly error: unknown }) {
  const { t } = useMessages(signInMessages)
  return (
    <>
      <RefusalNotice error={error} />
      <Text c="dimmed">{t.linkFailedAbout}</Text>
      <Button variant="default" onClick={() => onWay('password')}>
        {t.enter}
      </Button>
    </>
  )
}

function ResetByLink({ link, onWay }: LinkProps) {
  const { t } = useMessages(signInMessages)
  const password = useTyped()
  const change = useMutation({
    mutationFn: () => auth.call('resetPassword', { body: { link: link.secret, password: password.value } }),
  })
  if (change.data) {
    return (
      <>
        <Text role="status">{t.passwordSet}</Text>
        <Button onClick={() => onWay('password')}>{t.enter}</Button>
      </>
    )
  }
  return (
    <SubmitForm
      {...wide}
      onSubmit={change.mutate}
      label={t.setPassword}
      isReady={password.value !== ''}
      change={change}
    >
      <PasswordInput label={t.newPassword} autoComplete="new-password" {...password.props} />
    </SubmitForm>
  )
}
