//! A client that is there for a moment only.

use std::sync::Arc;
use std::time::Duration;

use polypath_apps::admission::{Door, Places};
use polypath_apps::forward::client::Client;

use super::{Setting, addresses, connect, open_server, soon};

/// Its hello and its goodbye wait for a server that is busy. Who keeps a log wants to see it.
#[tokio::test]
async fn who_says_hello_and_leaves_at_once_came_and_left() {
    let setting = Setting::default();
    let [ours, theirs] = addresses();
    let (server, there) = open_server(theirs, &setting);
    let (here, association) = connect(ours, &there, &setting).await;
    let accepted = Arc::new(soon(there.accept()).await.unwrap());
    let door = Door::new(Places { all: 1, per_source: 1 });
    let place = door.admit_guest(ours).unwrap();
    let mut serving = Box::pin(server.serve(accepted.clone(), place));
    // It says hello, and then is looked after no more.
    tokio::select! {
        biased;
        _ = &mut serving => panic!("it ended"),
        () = core::future::ready(()) => {}
    }
    let client = Client::new(setting.limits, Duration::from_secs(60)).unwrap();
    let (ready, is_ready) = tokio::sync::oneshot::channel();
    let carried = client.clone();
    tokio::spawn(async move { carried.carry(association, || ready.send(()).unwrap()).await });
    soon(is_ready).await.unwrap();
    soon(client.leave()).await;
    soon(accepted.closed()).await;
    soon(serving).await;
    let told = setting.told.lock().unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].ends_with(" came"), "{told:?}");
    assert!(told[1].ends_with(" left: the peer ended the association"), "{told:?}");
    drop(here);
}
