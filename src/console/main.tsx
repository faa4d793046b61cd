import { MantineProvider, Skeleton } from '@mantine/core'
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { Component, lazy, type ReactNode, Suspense, useMemo } from 'react'
import { createRoot } from 'react-dom/client'
import { CallRefused } from './client/call.ts'
import { part, recognise, useEntered } from './client/session.ts'
import { commonMessages, LanguageProvider, useMessages } from './shared/messages.tsx'
import { Empty } from './shared/parts.tsx'
import { themeOf, variables } from './shared/theme.ts'

/** The content security policy allows only styles with this nonce. */
const nonce = document.querySelector('meta[name="nonce"]')?.getAttribute('content') ?? ''

/** Read by the library that stops a page from scrolling under a dialog. */
Object.assign(globalThis, { __webpack_nonce__: nonce })

/** Each part is loaded after signing in, so that a browser loads only one of them, and the sign-in page before it. */
const SignIn = lazy(async () => ({ default: (await import('./shared/sign-in.tsx')).SignIn }))
const Customer = lazy(() => import('./customer/index.tsx'))
const Operator = lazy(() => import('./operator/index.tsx'))

/** A refusal is final; a lost call is retried twice. */
const retry = (failures: number, error: Error): boolean => !(error instanceof CallRefused) && failures < 2

function Failed() {
  const { t } = useMessages(commonMessages)
  return (
    <main className="alone">
      <Empty icon="close" title={t.failed} about={t.failedAbout}>
        <a href="/" className="plain-button">
          {t.reload}
        </a>
      </Empty>
    </main>
  )
}

/** Shows a page with a reload link if rendering throws. */
class Boundary extends Component<{ readonly children: ReactNode }, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false }
  static getDerivedStateFromError = () => ({ hasFailed: true })
  override render() {
    return this.state.hasFailed ? <Failed /> : this.props.children
  }
}

function Recognising() {
  const recognition = useQuery({ queryKey: ['recognise'], queryFn: () => recognise().then(() => true), staleTime: 0 })
  return recognition.error === null ? null : <Failed />
}

/** A change without a connection fails at once. A paused one would be sent later, without another press. */
const defaultOptions = { queries: { retry }, mutations: { networkMode: 'always' } } as const

/** A new query cache for each sign-in, so that no user sees another's answers. */
function Queries({ children }: { readonly children: ReactNode }) {
  const entered = useEntered()
  const isIn = typeof entered === 'object'
  const queries = useMemo(() => ({ isIn, client: new QueryClient({ defaultOptions }) }), [isIn])
  return <QueryClientProvider client={queries.client}>{children}</QueryClientProvider>
}

function Part() {
  const entered = useEntered()
  if (entered === 'unknown') return <Recognising />
  return (
    <Suspense fallback={<Skeleton height="100vh" radius={0} animate={false} />}>
      {typeof entered === 'string' ? <SignIn why={entered} /> : part === 'operator' ? <Operator /> : <Customer />}
    </Suspense>
  )
}

function Themed({ children }: { readonly children: ReactNode }) {
  const { t, language } = useMessages(commonMessages)
  return (
    <MantineProvider
      theme={themeOf(t.showPassword, language)}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      {children}
    </MantineProvider>
  )
}

const App = () => (
  <LanguageProvider>
    <Themed>
      <Boundary>
        <Queries>
          <Part />
        </Queries>
      </Boundary>
    </Themed>
  </LanguageProvider>
)

const root = document.getElementById('console')
if (root) createRoot(root).render(<App />)
