import { Button, PasswordInput, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { auth, own, recognise, useWho } from '../../client/session.ts'
import type { Session, Who } from '../../client/sign-in.ts'
import { download, toPicture, useNow } from '../browser.ts'
import { Copy, Copyable, Lines } from '../copy.tsx'
import { Form, useTyped } from '../form.tsx'
import { useMessages } from '../messages.tsx'
import { Cell, Facts, Notice, Page, Panel, Reading, RefusalNotice, RowButton, Rows, Status } from '../parts.tsx'
import { browserName } from './browser-name.ts'
import { accountMessages } from './messages.ts'

export const useSessions = (isWanted = true) =>
  useQuery({ queryKey: ['sessions'], queryFn: () => auth.call(own('listSessionsOf')), enabled: isWanted })

/** The same for customers and operators; `children` are the panels that only one of them has. */
export function AccountPage({ children }: { readonly children?: ReactNode }) {
  const { t } = useMessages(accountMessages)
  const who = useWho()
  return (
    <Page title={t.account} about={t.about}>
      {who === undefined ? (
        <Panel>
          <Text>{t.byToken}</Text>
        </Panel>
      ) : (
        <>
          <div className="halves">
            <PasswordPanel who={who} />
            <FactorPanel who={who} />
          </div>
          <Sessions />
          {children}
        </>
      )}
    </Page>
  )
}

function PasswordPanel({ who }: { readonly who: Who }) {
  const { t } = useMessages(accountMessages)
  const login = useTyped()
  const current = useTyped()
  const password = useTyped()
  const needsLogin = who.kind === 'customer' && who.login === null
  const body = {
    password: password.value,
    ...(who.has_password && { current_password: current.value }),
    ...(needsLogin && { login: login.text }),
  }
  const change = useMutation({
    mutationFn: (_had: boolean) => auth.call(own('setPasswordOf'), { body }),
    onSuccess: () => {
      current.set('')
      password.set('')
      return recognise()
    },
  })
  return (
    <Panel title={t.password} className="stack">
      <Facts
        of={[
          (who.kind !== 'customer' || who.login === null) && [t.signedInAs, who.name],
          [t.login, who.login ?? t.noLogin],
          who.role !== null && [t.role, t.roles[who.role]],
        ]}
      />
      <Form className="stack" onSubmit={() => change.mutate(who.has_password)}>
        {needsLogin && <TextInput label={t.newLogin} autoComplete="username" {...login.props} />}
        {who.has_password && (
          <PasswordInput label={t.currentPassword} autoComplete="current-password" {...current.props} />
        )}
        <PasswordInput
          label={t.newPassword}
          description={t.passwordAbout}
          autoComplete="new-password"
          {...password.props}
        />
        <RefusalNotice error={change.error} />
        {change.data && <Notice tone="good">{change.variables ? t.passwordChanged : t.passwordSet}</Notice>}
        <div>
          <Button type="submit" loading={change.isPending} disabled={password.value === ''}>
            {t.setPassword}
          </Button>
        </div>
      </Form>
    </Panel>
  )
}

/** The second factor: on after the first right code, off with the password. New recovery codes are shown once. */
function FactorPanel({ who }: { readonly who: Who }) {
  const { t } = useMessages(accountMessages)
  const password = useTyped()
  const [codes, setCodes] = useState<readonly string[]>()
  const body = { current_password: password.value }
  const begin = useMutation({ mutationFn: () => auth.call(own('beginFactorOf'), { body }) })
  const remove = useMutation({
    mutationFn: () => auth.call(own('removeFactorOf'), { body }),
    onSuccess: () => {
      password.set('')
      setCodes(undefined)
      begin.reset()
      return recognise()
    },
  })
  const renew = useMutation({
    mutationFn: () => auth.call(own('renewRecoveryCodesOf'), { body }),
    onSuccess: ({ recovery_codes }) => {
      password.set('')
      setCodes(recovery_codes)
      return recognise()
    },
  })
  if (begin.data && !who.has_factor) return <ConfirmFactor made={begin.data} onCodes={setCodes} />
  const change = who.has_factor ? remove : begin
  return (
    <Panel title={t.factor} className="stack">
      <Text c="dimmed">{who.has_factor ? t.factorOn : t.factorOff}</Text>
      {who.has_factor &&
        (codes ? <RecoveryCodes codes={codes} who={who} /> : <RecoveryLeft count={who.recovery_codes_left} />)}
      {who.has_password ? (
        <Form className="stack" onSubmit={() => change.mutate()}>
          <PasswordInput label={t.currentPassword} autoComplete="current-password" {...password.props} />
          <RefusalNotice error={change.error ?? renew.error} />
          <div className="line">
            {who.has_factor && (
              <Button
                variant="default"
                loading={renew.isPending}
                disabled={password.value === ''}
                onClick={() => renew.mutate()}
              >
                {t.recoveryRenew}
              </Button>
            )}
            <Button type="submit" variant="default" loading={change.isPending} disabled={password.value === ''}>
              {who.has_factor ? t.factorRemove : t.factorBegin}
            </Button>
          </div>
        </Form>
      ) : (
        <Text>{t.factorNeeds}</Text>
      )}
    </Panel>
  )
}

/** New recovery codes; their file also names the shop and the login that they are for. */
function RecoveryCodes({ codes, who }: { readonly codes: readonly string[]; readonly who: Who }) {
  const { t } = useMessages(accountMessages)
  const text = codes.join('\n')
  const head = `Turnpike ${location.host}\n${t.login}: ${who.login ?? who.name}\n${t.recoveryCodes}:`
  return (
    <>
      <Notice tone="warn">{t.recoveryAbout}</Notice>
      <Lines text={text} label={t.recoveryCodes} />
      <div className="line">
        <Copy text={text} />
        <Button
          variant="default"
          size="xs"
          onClick={() => download(`turnpike-recovery-codes-${location.hostname}.txt`, `${head}\n${text}\n`)}
        >
          {t.download}
        </Button>
      </div>
    </>
  )
}

/** Fewer recovery codes than this are a warning. */
const fewCodes = 3

function RecoveryLeft({ count }: { readonly count: number | null }) {
  const { t, format } = useMessages(accountMessages)
  const left = count === null ? t.recoveryNone : t.recoveryLeft(count, format)
  return (
    <>
      {(count ?? 0) < fewCodes ? <Notice tone="warn">{left}</Notice> : <Text>{left}</Text>}
      <Text c="dimmed">{t.recoveryRenewAbout}</Text>
    </>
  )
}

type ConfirmProps = {
  readonly made: { readonly secret: string; readonly uri: string; readonly qr: string }
  readonly onCodes: (codes: readonly string[]) => void
}

function ConfirmFactor({ made, onCodes }: ConfirmProps) {
  const { t } = useMessages(accountMessages)
  const code = useTyped()
  const confirm = useMutation({
    mutationFn: () => auth.call(own('confirmFactorOf'), { body: { code: code.text } }),
    onSuccess: ({ recovery_codes }) => {
      onCodes(recovery_codes)
      return recognise()
    },
  })
  return (
    <Panel title={t.factor} className="stack">
      <div className="on-phone">
        <Text c="dimmed">{t.factorAdd}</Text>
        <Button component="a" href={made.uri}>
          {t.factorOpen}
        </Button>
      </div>
      <div className="not-on-phone">
        <Text c="dimmed">{t.factorScan}</Text>
        <img className="qr" src={toPicture(made.qr)} alt={t.factorQr} width="240" height="240" />
      </div>
      <Facts of={[[t.factorSecret, <Copyable text={made.secret} label={t.factorSecret} />]]} />
      <Form className="line fields" onSubmit={confirm.mutate}>
        <TextInput label={t.code} inputMode="numeric" autoComplete="one-time-code" {...code.props} />
        <Button type="submit" loading={confirm.isPending} disabled={code.text === ''}>
          {t.confirm}
        </Button>
      </Form>
      <RefusalNotice error={confirm.error} />
    </Panel>
  )
}

/** The client address of this session. */
const ownSource = (all: readonly Session[]): string | null => all.find((each) => each.current)?.source ?? null

function Sessions() {
  const { t, format } = useMessages(accountMessages)
  const nowAt = useNow()
  const queries = useQueryClient()
  const sessions = useSessions()
  const end = useMutation({
    mutationFn: (session_id: string | undefined) =>
      auth.call(own('endSessionsOf'), { body: session_id === undefined ? {} : { session_id } }),
    onSuccess: () => queries.invalidateQueries(),
  })
  const endOthers = (
    <Button size="xs" variant="default" onClick={() => end.mutate(undefined)}>
      {t.endOthers}
    </Button>
  )
  return (
    <Panel title={t.sessions} className="stack" aside={endOthers}>
      <Text c="dimmed">{t.sessionsAbout}</Text>
      <Reading of={sessions}>
        {({ sessions: all }) => (
          <Rows
            label={t.sessions}
            rows={all}
            keyOf={(row) => row.session_id}
            columns={(column) => [
              column(t.source, (row) => (
                <Cell note={!row.current && row.source === ownSource(all) ? t.sameSource : undefined}>
                  <span className="mono">{row.source}</span>
                </Cell>
              )),
              column.text(t.browser, (row) => browserName(row.agent)),
              column(
                t.used,
                (row) => format.away(row.used_at, nowAt),
                (row) => row.used_at,
              ),
              column.action(t.end, (row) =>
                row.current ? (
                  <Status tone="good">{t.current}</Status>
                ) : (
                  <RowButton label={t.end} onClick={() => end.mutate(row.session_id)} />
                ),
              ),
            ]}
          />
        )}
      </Reading>
      <RefusalNotice error={end.error} />
    </Panel>
  )
}
