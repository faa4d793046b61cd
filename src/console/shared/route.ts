import { useSyncExternalStore } from 'react'

/** Where in the console somebody is. It stands behind the `#`, so a page has an address and the server needs none. */
export type Route = { readonly path: string; readonly query: URLSearchParams }

function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?')
  return { path: path.startsWith('/') ? path : '/', query: new URLSearchParams(query) }
}

const listen = (onChange: () => void): (() => void) => {
  addEventListener('hashchange', onChange)
  return () => removeEventListener('hashchange', onChange)
}

export const useRoute = (): Route => readRoute(useSyncExternalStore(listen, () => location.hash))

export const go = (path: string): void => {
  location.hash = path
}
