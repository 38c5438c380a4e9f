module polypath/foreign-tls

go 1.22
